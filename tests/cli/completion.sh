# The completions that a shell offers after the typed words, obtained from the shells themselves. zsh and fish if
# installed.
. "$PLIMSOLL_CLI/common.sh"
touch net.onnx P.json

# by_SHELL WORDS…: the completions for the last word.
by_bash() {
  bash --norc --noprofile -c 'eval "$(plimsoll completion bash)"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _plimsoll
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
by_fish() {
  HOME=$PWD fish --no-config -c 'source (plimsoll completion fish | psub); complete -C (string join " " -- $argv)' \
    -- "$@" | cut -f 1
}
# zsh completes only on a terminal. The test makes one and presses Tab twice, for a list.
by_zsh() {
  plimsoll completion zsh >completion.zsh
  /usr/bin/python3 - "$*" <<'PY'
import os, pty, re, select, sys
child, terminal = pty.fork()
if child == 0:
    os.environ.update(TERM="dumb", HOME=os.getcwd())
    os.execvp("zsh", ["zsh", "-f", "-i"])


def read_until(wanted, quiet):
    seen = ""
    while wanted is None or wanted not in seen:
        if not select.select([terminal], [], [], 60 if wanted else quiet)[0]:
            break
        seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(terminal, 65536).decode(errors="replace"))
    return seen


os.write(
    terminal,
    b"PS1=; stty cols 200; autoload -U compinit; compinit -D -u; source completion.zsh; LISTMAX=10000; echo rea''dy\n")
read_until("\nready", 0)
os.write(terminal, sys.argv[1].encode() + b"\t\t")
# Wait until the shell has printed nothing for a while.
print("\n".join(re.split(r"[\s\a\b]+", read_until(None, 3))))
os.close(terminal)
PY
}

offers() {
  local wanted=$1
  shift
  "by_$shell" "$@" >got 2>err || { cat got err; fail "$shell: $*"; }
  grep -qx -- "$wanted" got || { cat got err; fail "$shell does not offer $wanted behind: $*"; }
}
hides() {
  local unwanted=$1
  shift
  "by_$shell" "$@" >got 2>err || true
  ! grep -qx -- "$unwanted" got || { cat got err; fail "$shell offers $unwanted behind: $*"; }
}

for shell in bash fish zsh; do
  command -v $shell >/dev/null || { echo "$shell is not here, and was not asked"; continue; }
  offers completion plimsoll com
  offers --policy plimsoll compile net.onnx --po
  offers vdnn-all:m plimsoll compile net.onnx --policy vdnn-
  offers cuda plimsoll plan net.onnx --target ''
  offers net.onnx plimsoll compile n
  offers h200 plimsoll plan net.onnx --costs ''
  offers P.json plimsoll plan net.onnx --costs ''
  offers resnet50 plimsoll model resn
  offers fish plimsoll completion ''
  hides P.json plimsoll compile net.onnx --batch ''
  echo "$shell completes"
done
