// Properties of the terminal behind a stream. TERM, NO_COLOR and COLUMNS are environment variables.
#pragma once

namespace dashlm {

// Whether a line on the stream can be erased and written anew: the stream is a terminal, and TERM
// is neither unset nor "dumb".
bool can_redraw(int file);
// Whether can_redraw() holds, and NO_COLOR (no-color.org) does not forbid colours.
bool wants_color(int file);
// The columns of the terminal at this moment; a window may be resized at any time. COLUMNS may
// lower the number, and gives it for a terminal that does not know its width. Otherwise it is 80.
int columns_of(int file);

}  // namespace dashlm
