#!/bin/sh
# Put Neovim of Debian's or Ubuntu's package into a folder, without installing it, and print its program's path.
# usage: PD_NVIM=$(scripts/setup_neovim.sh) pytest tests/lsp
set -eu
if command -v nvim > /dev/null; then
  command -v nvim
  exit
fi
folder=${PD_LAUNCH_CACHE:-$HOME/.cache/pd-launch}/neovim
if [ ! -x "$folder/nvim" ]; then
  mkdir -p "$folder"
  cd "$folder"
  # with the libraries that it names, but for those that every system has
  needed=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances neovim |
    grep -E '^(neovim|lib(luajit|msgpack|termkey|tree-sitter|unibilium|uv|vterm|utf8proc)|lua-luv)' | sort -u)
  # shellcheck disable=SC2086
  apt-get download -q $needed >&2
  for package in *.deb; do dpkg -x "$package" .; done
  rm -f ./*.deb
  libraries=$(find "$folder" -name '*.so*' -exec dirname {} \; | sort -u | tr '\n' ':')
  printf '#!/bin/sh\nVIMRUNTIME=%s LD_LIBRARY_PATH=%s exec %s "$@"\n' \
    "$folder/usr/share/nvim/runtime" "$libraries" "$folder/usr/bin/nvim" > nvim
  chmod +x nvim
fi
echo "$folder/nvim"
