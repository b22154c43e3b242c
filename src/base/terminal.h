// What the terminal behind a stream can do. TERM, NO_COLOR and COLUMNS are those of the
// environment.
#pragma once

namespace dashlm {

// Whether a line on it can be erased and written anew: it is a terminal, and TERM is neither unset
// nor "dumb".
bool can_redraw(int file);
// Whether it can, and NO_COLOR (no-color.org) does not forbid colours.
bool wants_color(int file);
// Its columns at this moment: a window may be resized at any time. COLUMNS may say fewer, and
// speaks for a terminal that does not know; else 80.
int columns_of(int file);

}  // namespace dashlm
