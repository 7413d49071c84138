#!/usr/bin/env bash
# Tries the README's commands and the Debian package on bare Debian: in minbase chroots, which hold only what
# debootstrap installs, as root and as a user with sudo. Packages of this machine cannot hide a missing dependency there.
#   tools/bare.sh [--base DIR] [--mirror URL] [--only PART]... [--keep] bookworm|trixie
#     --base DIR    a minbase chroot to copy; it is made there if DIR does not exist (default: a temporary one)
#     --mirror URL  where packages come from (default http://deb.debian.org/debian)
#     --only PART   only this part; it may be given several times. Parts, in this order:
#                     demo     tools/demo.sh, by a user without sudo (it must say what to install), by one with sudo and
#                              by root
#                     package  tools/package.sh, and its .deb installed in another bare chroot, where a trainer is
#                              compiled, built and run
#                     tests    tools/test.sh by root, which takes half an hour
#     --keep        keep the chroots and print where they are
# It needs root, debootstrap and the network. It tries the commit at HEAD. The environment's proxies hold inside, too.
# Exit code 0 if every step ended as it should. The last lines are a table of the steps, which the script also writes to
# docs/installation.md.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; }
refuse() { echo "bare: $1; --help explains the usage" >&2; exit "${2:-2}"; }
suite="" base="" mirror=http://deb.debian.org/debian parts=() keep=""
while (( $# > 0 )); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --base) base=${2:?bare: --base needs a directory}; shift ;;
    --mirror) mirror=${2:?bare: --mirror needs a URL}; shift ;;
    --only)
      case ${2:-} in
        demo | package | tests) parts+=("$2") ;;
        *) refuse "'${2:-}' is no part (demo, package, tests)" ;;
      esac
      shift ;;
    --keep) keep=1 ;;
    bookworm | trixie) suite=$1 ;;
    *) refuse "'$1' is neither an option nor a supported release (bookworm, trixie)" ;;
  esac
  shift
done
[[ -n $suite ]] || refuse "which release: bookworm or trixie?"
[[ $(id -u) -eq 0 ]] || refuse "chroots need root" 8
command -v debootstrap >/dev/null || refuse "debootstrap is not installed (apt-get install debootstrap)" 8
git rev-parse --verify -q HEAD >/dev/null || refuse "this is not a git repository" 8

# Mounts are made in a mount namespace of this process, so they are gone when it ends, however it ends.
if [[ -z ${PLIMSOLL_BARE_APART:-} ]]; then
  again=(--mirror "$mirror" ${base:+--base "$base"} ${keep:+--keep})
  for part in "${parts[@]}"; do again+=(--only "$part"); done
  PLIMSOLL_BARE_APART=1 exec unshare --mount --propagation private "$0" "${again[@]}" "$suite"
fi

wants() { [[ ${#parts[@]} -eq 0 || " ${parts[*]} " == *" $1 "* ]]; }
commit=$(git rev-parse --short=12 HEAD)
work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-bare-XXXXXX")
leave() {
  for root in "$work"/*/; do umount -R "$root"proc "$root"sys "$root"dev "$root"ccache 2>/dev/null || true; done
  if [[ -n $keep ]]; then echo "bare: the chroots are in $work" >&2; else rm -rf --one-file-system "$work"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM

if [[ ! -e ${base:-$work/base}/etc/debian_version ]]; then
  echo "bare: making a minbase of $suite" >&2
  debootstrap --variant=minbase "$suite" "${base:-$work/base}" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -5 "$work/debootstrap.log" >&2; refuse "debootstrap failed" 8; }
fi
mkdir -m 1777 "$work/shared-ccache"

# bare NAME: a fresh copy, with the commit in /home/someone/plimsoll. The chroots of one run share a compiler cache, as
# each compiles the same sources. It is empty at the start.
bare() {
  root=$work/$1
  cp -a --reflink=auto "${base:-$work/base}" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"  # OpenMPI 5 finds the processors there
  mount --rbind /dev "$root/dev"
  mkdir "$root/ccache"
  mount --bind "$work/shared-ccache" "$root/ccache"
  for file in resolv.conf hosts; do cp -L "/etc/$file" "$root/etc/$file" 2>/dev/null || true; done
  echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
  chroot "$root" useradd -m -s /bin/bash someone
  mkdir "$root/home/someone/plimsoll"
  git archive HEAD | tar -x -C "$root/home/someone/plimsoll"
  chroot "$root" chown -R someone: /home/someone
}

rows=() failed=0
# step WHO EXPECTED COMMAND…: runs it in the chroot, in the repository; its output is kept next to the chroot.
step() {
  local who=$1 expected=$2 started=$SECONDS code=0 log verdict=ok
  shift 2
  log=$work/${root##*/}-${#rows[@]}.log
  echo "bare: $suite, $who: $*" >&2
  local inside="cd /home/someone/plimsoll && $*"
  if [[ $who == root ]]; then
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${carried[@]}" bash -c "$inside" \
      >"$log" 2>&1 </dev/null || code=$?
  else
    chroot "$root" su someone -c "env -i HOME=/home/someone PATH=/usr/bin:/bin ${carried[*]@Q} bash -c ${inside@Q}" \
      >"$log" 2>&1 </dev/null || code=$?
  fi
  if [[ $code -ne $expected ]]; then
    verdict="exit $code, not $expected" failed=1
    tail -30 "$log" >&2
  fi
  rows+=("$(printf '%-9s %-20s %-60s %5d s  %s' "$suite" "$who" "$*" $((SECONDS - started)) "$verdict")")
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

if wants demo; then
  bare user
  step someone 8 tools/demo.sh
  step_says "need root (or sudo) to install: "
  chroot "$root" bash -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo" \
    >"$work/sudo.log" 2>&1 || { cat "$work/sudo.log" >&2; refuse "sudo cannot be installed" 8; }
  echo "someone ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/someone"
  step "someone, with sudo" 0 tools/demo.sh
  grep -E "test accuracy" "$last" | tail -1 >&2 || true

  bare root
  step root 0 tools/demo.sh
fi

if wants package; then
  [[ -e $work/root ]] || bare root
  root=$work/root
  step root 0 tools/package.sh
  package=$(find "$root/home/someone/plimsoll/build/package" -maxdepth 1 -name '*.deb' 2>/dev/null | head -1)
  if [[ -n $package ]]; then
    bare package
    find "$root/home/someone/plimsoll" -mindepth 1 -delete  # the sources cannot help
    cp "$package" "$root/home/someone/plimsoll.deb"
    # With what the package recommends, which is apt's default: trainers are built with that.
    step root 0 "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ../plimsoll.deb"
    step someone 0 plimsoll --version
    step_says "commit $commit"
    step someone 0 plimsoll model resnet18:input=32,stem=cifar,width=16,classes=10 -o ../net.onnx
    step someone 0 plimsoll compile ../net.onnx --batch 16 --budget 40% -o ../trainer
    step someone 0 "cmake -S ../trainer -B ../trainer/build && cmake --build ../trainer/build"
    step someone 0 ../trainer/build/train --data synthetic --steps 3
    step_says "arena planned"
    step someone 0 "cmake -S ../trainer -B ../trainer/linked -DPlimsoll_ROOT=/usr && cmake --build ../trainer/linked"
    step someone 0 ../trainer/linked/train --data synthetic --steps 3
    step root 0 "apt-get remove -y -qq plimsoll"
  fi
fi

if wants tests; then
  [[ -e $work/root ]] || bare root
  root=$work/root
  step root 0 tools/test.sh
  tail -1 "$last" >&2
fi

table() {
  printf '%-9s %-20s %-60s %7s  %s\n' release who command time result
  printf '%s\n' "${rows[@]}"
}
# The page has a section for each release, between two comments.
PLIMSOLL_BARE_TABLE=$(table) python3 - docs/installation.md "$suite" "$commit" "$(nproc)" <<'PY'
import datetime, os, re, sys
page, suite, commit, cores = sys.argv[1:]
section = "\n\n".join([f"<!-- bare: {suite} -->", f"{datetime.date.today()}, commit {commit}, {cores} cores:",
                       "```\n" + os.environ["PLIMSOLL_BARE_TABLE"] + "\n```", "<!-- bare: end -->"])
text, sections = re.subn(f"<!-- bare: {suite} -->.*?<!-- bare: end -->", lambda match: section, open(page).read(),
                         flags=re.DOTALL)
if sections != 1:
    sys.exit(f"bare: {page} has {sections} sections of {suite}")
open(page, "w").write(text)
PY
table
exit $failed
