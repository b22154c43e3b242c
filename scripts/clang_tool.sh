# To be sourced: clang_tool NAME prints the clang-format, clang-tidy and so on of version 14, which
# GCC 12's distributions have; other versions format and warn differently. It fails without a word
# where there is none.
clang_tool() {
  local program
  for program in "$1-14" "$1"; do
    if "$program" --version 2>/dev/null | grep -q 'version 14\.'; then
      echo "$program"
      return
    fi
  done
  return 1
}
