#!/usr/bin/env bash
# Tries the README's commands, the Debian package and `pip install` on bare Debian: in minbase chroots, which hold only
# what debootstrap installs, as root and as a user with sudo. Packages of this machine cannot hide a missing dependency
# there.
#   tools/bare.sh [--base DIR] [--mirror URL] [--ccache DIR] [--only PART]... [--deb FILE] [--keep] bookworm|trixie
#     --base DIR    a minbase chroot to copy; it is made there if DIR does not exist (default: a temporary one)
#     --mirror URL  where packages come from (default http://deb.debian.org/debian)
#     --ccache DIR  a compiler cache that is kept, for the next run (default: a temporary one, empty at the start)
#     --only PART   only this part; it may be given several times. Parts, in this order:
#                     demo     tools/demo.sh, by a user without sudo (it must say what to install), by one with sudo and
#                              by root
#                     package  tools/package.sh, and its .deb installed in another bare chroot, where a trainer is
#                              compiled, built and run
#                     pip      `pip install .` in a virtual environment, and the command and the package without
#                              PyTorch
#                     tests    tools/test.sh by root, which takes half an hour; a skip that has no reason fails
#     --deb FILE    the package that the part `package` installs, instead of one that it builds
#     --keep        keep the chroots and print where they are
# It needs root, debootstrap and the network. It tries the commit at HEAD. The environment's proxies and PIP_CERT hold
# inside, too.
# Exit code 0 if every step ended as it should. The last lines are a table of the steps. When a part ends, its table
# replaces the part's last one in docs/installation.md. The output of each step and the package are in
# build/bare/RELEASE/.
set -euo pipefail
script=$(realpath "$0")

usage() { sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$script"; }
refuse() { echo "bare: $1; --help explains the usage" >&2; exit "${2:-2}"; }
suite="" base="" mirror=http://deb.debian.org/debian parts=() keep="" package="" cache=""
given=("$@")
while (( $# > 0 )); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --base) base=$(realpath "${2:?bare: --base needs a directory}"); shift ;;
    --mirror) mirror=${2:?bare: --mirror needs a URL}; shift ;;
    --ccache) cache=$(realpath "${2:?bare: --ccache needs a directory}"); shift ;;
    --only)
      case ${2:-} in
        demo | package | pip | tests) parts+=("$2") ;;
        *) refuse "'${2:-}' is no part (demo, package, pip, tests)" ;;
      esac
      shift ;;
    --deb) package=$(realpath -e "${2:?bare: --deb needs a file}"); shift ;;
    --keep) keep=1 ;;
    bookworm | trixie) suite=$1 ;;
    *) refuse "'$1' is neither an option nor a supported release (bookworm, trixie)" ;;
  esac
  shift
done
[[ -n $suite ]] || refuse "which release: bookworm or trixie?"
# A base that holds another release, or more than debootstrap installs, would make every result worthless.
if [[ -n $base && -e $base ]]; then
  found=$(sed -n 's/^VERSION_CODENAME=//p' "$base/etc/os-release" 2>/dev/null || true)
  [[ $found == "$suite" ]] || refuse "the base $base is ${found:+a chroot of $found, }not a chroot of $suite"
  for tool in python3 cc g++ cmake make; do
    [[ ! -e $base/usr/bin/$tool ]] || refuse "the base $base is not bare: it has $tool"
  done
fi
[[ $(id -u) -eq 0 ]] || refuse "chroots need root" 8
command -v debootstrap >/dev/null || refuse "debootstrap is not installed (apt-get install debootstrap)" 8
git -C "${script%/tools/*}" rev-parse --verify -q HEAD >/dev/null || refuse "this is not a git repository" 8

# The run has namespaces of its own for mounts and processes, so both are gone when it ends, however it ends.
if [[ -z ${PLIMSOLL_BARE_WORK:-} ]]; then
  work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-bare-XXXXXX")
  leave() {
    if [[ -n $keep ]]; then echo "bare: the chroots are in $work" >&2; else rm -rf --one-file-system "$work"; fi
  }
  trap leave EXIT
  trap 'kill -KILL "$inside"; exit 130' INT TERM
  PLIMSOLL_BARE_WORK=$work unshare --mount --propagation private --pid --fork --kill-child "$script" "${given[@]}" &
  inside=$!
  code=0
  wait "$inside" || code=$?
  exit "$code"
fi

wants() { [[ ${#parts[@]} -eq 0 || " ${parts[*]} " == *" $1 "* ]]; }
work=$PLIMSOLL_BARE_WORK
cd "${script%/tools/*}"
head=$(git rev-parse HEAD)
commit=${head:0:12}  # as `plimsoll --version` prints it
logs=$PWD/build/bare/$suite
mkdir -p "$logs" "${cache:=$work/ccache}"

if [[ ! -e ${base:=$work/base} ]]; then
  echo "bare: making a minbase of $suite" >&2
  debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$logs/debootstrap.log" 2>&1 ||
    { tail -5 "$logs/debootstrap.log" >&2; refuse "debootstrap failed" 8; }
fi
chmod 1777 "$cache"  # root and another user write it

# bare NAME: a fresh copy, with the commit in /home/someone/plimsoll, where `git archive` has written which commit it is
# (cmake/archived_commit). All chroots share a compiler cache, as each compiles the same sources.
bare() {
  root=$work/$1
  cp -a --reflink=auto "$base" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"  # OpenMPI 5 finds the processors there
  mount --rbind /dev "$root/dev"
  mkdir "$root/ccache"
  mount --bind "$cache" "$root/ccache"
  for file in resolv.conf hosts; do cp -L "/etc/$file" "$root/etc/$file" 2>/dev/null || true; done
  [[ -z ${PIP_CERT:-} ]] || cp -L "$PIP_CERT" "$root/etc/pip-cert.crt"
  echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
  chroot "$root" useradd -m -s /bin/bash someone
  mkdir "$root/home/someone/plimsoll"
  git archive "$head" | tar -x -C "$root/home/someone/plimsoll"
  chroot "$root" chown -R someone: /home/someone
}

rows=() all=() failed=0
row='%-18s %-90s %7s  %s'
# begin PART, end: the steps between them are the part's, and `end` writes their table to the page.
begin() { part=$1 rows=(); }
end() {
  local table
  table=$(printf "$row\n" user command time result; printf '%s\n' "${rows[@]}")
  python3 tools/bare_page.py docs/installation.md "$suite" "$part" "${1:-commit $commit}" <<<"$table"
  all+=("$suite, $part:" "$table")
}
# step WHO EXPECTED COMMAND…: runs it in the chroot, in the repository.
step() {
  local who=$1 expected=$2 started=$SECONDS code=0 log verdict=ok
  shift 2
  log=$logs/${part}-$((${#rows[@]} + 1)).log
  echo "bare: $suite, $who: $*" >&2
  local inside="cd /home/someone/plimsoll && $*"
  if [[ $who == root ]]; then
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${carried[@]}" bash -c "$inside" \
      >"$log" 2>&1 </dev/null || code=$?
  else
    chroot "$root" su someone -c "env -i HOME=/home/someone PATH=/usr/bin:/bin ${carried[*]@Q} bash -c ${inside@Q}" \
      >"$log" 2>&1 </dev/null || code=$?
  fi
  [[ $expected -eq 0 ]] || verdict="ok: exit $expected"
  if [[ $code -ne $expected ]]; then
    verdict="exit $code, not $expected" failed=1
    tail -30 "$log" >&2
  fi
  rows+=("$(printf "$row" "$who" "$*" "$((SECONDS - started)) s" "$verdict")")
  last=$log
}
# step_says TEXT: the last step's output holds it.
step_says() {
  grep -qF -- "$1" "$last" || { echo "bare: the step does not say: $1" >&2; rows[-1]+=", does not say '$1'"; failed=1; }
}
carried=(CCACHE_DIR=/ccache CCACHE_UMASK=000)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  [[ -z ${!name:-} ]] || carried+=("$name=${!name}")
done

[[ -z ${PIP_CERT:-} ]] || carried+=(PIP_CERT=/etc/pip-cert.crt)

if wants demo; then
  begin demo
  bare user
  step someone 8 tools/demo.sh
  step_says "need root (or sudo) to install: "
  chroot "$root" bash -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo" \
    >"$logs/sudo.log" 2>&1 || { cat "$logs/sudo.log" >&2; refuse "sudo cannot be installed" 8; }
  echo "someone ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/someone"
  step "someone, with sudo" 0 tools/demo.sh
  step_says "test accuracy"

  bare root
  step root 0 tools/demo.sh
  step_says "test accuracy"
  end
fi

if wants package; then
  begin package
  says="commit $commit" of="commit $commit"
  if [[ -n $package ]]; then
    says="plimsoll " of="a package given with --deb"
  else
    [[ -e $work/root ]] || bare root
    root=$work/root
    step root 0 tools/package.sh
    package=$(find "$root/home/someone/plimsoll/build/package" -maxdepth 1 -name '*.deb' 2>/dev/null | head -1)
  fi
  if [[ -n $package ]]; then
    cp "$package" "$logs/"
    bare package
    find "$root/home/someone/plimsoll" -mindepth 1 -delete  # the sources cannot help
    cp "$package" "$root/home/someone/plimsoll.deb"
    # With what the package recommends, which is apt's default: trainers are built with that.
    step root 0 "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ../plimsoll.deb"
    step someone 0 plimsoll --version
    step_says "$says"
    step someone 0 plimsoll model resnet18:input=32,stem=cifar,width=16,classes=10 -o ../net.onnx
    step someone 0 plimsoll compile ../net.onnx --batch 16 --budget 40% --costs modelled -o ../trainer
    # Once with the installed runtime library, once with the sources that the trainer carries.
    step someone 0 "cmake -S ../trainer -B ../linked -DPlimsoll_ROOT=/usr && cmake --build ../linked"
    step someone 0 ../linked/train --data synthetic --steps 3
    step_says "arena planned"
    step someone 0 "cmake -S ../trainer -B ../carried && cmake --build ../carried -j \$(nproc)"
    step someone 0 ../carried/train --data synthetic --steps 3
    step_says "arena planned"
    # The manual page, completions and the licence are where their readers look. Another project finds the library, and
    # a program of other sources does not link with it.
    step root 0 "cd /usr/share && zcat -f man/man1/plimsoll.1.gz */*completions*/*plimsoll* zsh/*/_plimsoll"
    for text in ".TH PLIMSOLL 1" "-F _plimsoll plimsoll" "complete -c plimsoll" "#compdef plimsoll"; do
      step_says "$text"
    done
    step root 0 cat /usr/share/doc/plimsoll/copyright
    step_says "License: Apache-2.0"
    mkdir "$root/home/someone/own"
    cat >"$root/home/someone/own/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(own LANGUAGES CXX)
find_package(Plimsoll 0.1.0 REQUIRED COMPONENTS host)
plimsoll_add_trainer(fit ../trainer)
CMAKE
    chroot "$root" chown -R someone: /home/someone/own
    step someone 0 "cmake -S ../own -B ../own/build && cmake --build ../own/build"
    step someone 0 ../own/build/fit --data synthetic --steps 3
    sed -i 's/plimsoll_runtime_[0-9a-f]*/plimsoll_runtime_0123456789abcdef/g' "$root"/home/someone/trainer/program.cpp
    step someone 2 cmake --build ../own/build
    step_says "undefined reference to \`plimsoll_runtime_0123456789abcdef'"
    step root 0 "apt-get remove -y -qq plimsoll && ! test -e /usr/lib/plimsoll"
  fi
  end "$of"
fi

if wants pip; then
  begin pip
  bare pip
  step root 0 tools/setup.sh pip
  step someone 0 "python3 -m venv ../env && ../env/bin/pip install ."
  # Elsewhere: the folder of the sources has the package's name.
  step someone 0 "cd ../env && bin/plimsoll --version"
  step_says "commit $commit"
  step someone 0 "cd ../env && bin/python -c 'import plimsoll, sys; print(plimsoll.__file__, \"torch\" in sys.modules)'"
  step_says "/site-packages/plimsoll/__init__.py False"
  step someone 0 "cd ../env && bin/plimsoll model lenet -o net.onnx"
  step someone 0 "cd ../env && bin/plimsoll train net.onnx --batch 8 --budget 80% --data synthetic --steps 3"
  step_says "arena planned"
  end
fi

if wants tests; then
  begin tests
  [[ -e $work/root ]] || bare root
  root=$work/root
  step root 0 PLIMSOLL_NO_SKIPS=1 tools/test.sh
  tail -1 "$last" >&2
  end
fi

printf '%s\n' "${all[@]}"
exit $failed
