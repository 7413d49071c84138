#!/usr/bin/env bash
# Runs the README's two commands on a bare Debian: in a minbase chroot that has nothing but what debootstrap puts there, as root and as
# a user with sudo. What this machine has installed cannot help there.
#   tools/bare.sh [--base DIR] [--mirror URL] [--demo-only] [--keep] bookworm|trixie
#     --base DIR    a minbase chroot to copy; made there if DIR does not exist (otherwise one is made, and dropped)
#     --mirror URL  where packages come from (default http://deb.debian.org/debian)
#     --demo-only   leave tools/test.sh out, which takes half an hour
#     --keep        leave the chroots, and say where they are
# Needs root, debootstrap and the network. What is tried is the commit at HEAD. Proxies of the environment hold inside, too.
# Exit code 0 if every step ended as it should; the last lines are a table of them.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,11s/^# \{0,1\}//p' "$0"; }
refuse() { echo "bare: $1; --help tells more" >&2; exit "${2:-2}"; }
suite="" base="" mirror=http://deb.debian.org/debian demo_only="" keep=""
while (( $# > 0 )); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --base) base=${2:?bare: --base needs a directory}; shift ;;
    --mirror) mirror=${2:?bare: --mirror needs a URL}; shift ;;
    --demo-only) demo_only=1 ;;
    --keep) keep=1 ;;
    bookworm | trixie) suite=$1 ;;
    *) refuse "'$1' is no option, and no release that Plimsoll is for (bookworm, trixie)" ;;
  esac
  shift
done
[[ -n $suite ]] || refuse "which release: bookworm or trixie?"
[[ $(id -u) -eq 0 ]] || refuse "chroots need root" 8
command -v debootstrap >/dev/null || refuse "there is no debootstrap (apt-get install debootstrap)" 8
git rev-parse --verify -q HEAD >/dev/null || refuse "this is no git repository" 8

# What is mounted here is mounted nowhere else, and is gone when this ends, however it ends.
if [[ -z ${PLIMSOLL_BARE_APART:-} ]]; then
  again=(--mirror "$mirror" ${base:+--base "$base"} ${demo_only:+--demo-only} ${keep:+--keep} "$suite")
  PLIMSOLL_BARE_APART=1 exec unshare --mount --propagation private "$0" "${again[@]}"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-bare-XXXXXX")
leave() {
  for root in "$work"/*/; do umount -R "$root"proc "$root"sys "$root"dev 2>/dev/null || true; done
  if [[ -n $keep ]]; then echo "bare: the chroots are in $work" >&2; else rm -rf --one-file-system "$work"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM

if [[ ! -e ${base:-$work/base}/etc/debian_version ]]; then
  echo "bare: making a minbase of $suite" >&2
  debootstrap --variant=minbase "$suite" "${base:-$work/base}" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail -5 "$work/debootstrap.log" >&2; refuse "debootstrap failed" 8; }
fi

# bare NAME: a fresh copy, with the commit in /home/someone/plimsoll.
bare() {
  root=$work/$1
  cp -a --reflink=auto "${base:-$work/base}" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"  # OpenMPI 5 finds the processors there
  mount --rbind /dev "$root/dev"
  for file in resolv.conf hosts; do cp -L "/etc/$file" "$root/etc/$file" 2>/dev/null || true; done
  echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
  chroot "$root" useradd -m -s /bin/bash someone
  mkdir "$root/home/someone/plimsoll"
  git archive HEAD | tar -x -C "$root/home/someone/plimsoll"
  chroot "$root" chown -R someone: /home/someone
}

rows=() failed=0
# step WHO EXPECTED COMMAND…: in the chroot, from the commit's directory; what it says is kept beside the chroot.
step() {
  local who=$1 expected=$2 started=$SECONDS code=0 log verdict=ok
  shift 2
  log=$work/${root##*/}-${#rows[@]}.log
  echo "bare: $suite, $who: $*" >&2
  local inside="cd /home/someone/plimsoll && $*"
  if [[ $who == root ]]; then chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${carried[@]}" bash -c "$inside" >"$log" 2>&1 </dev/null || code=$?
  else chroot "$root" su someone -c "env -i HOME=/home/someone PATH=/usr/bin:/bin ${carried[*]@Q} bash -c ${inside@Q}" >"$log" 2>&1 </dev/null || code=$?; fi
  if [[ $code -ne $expected ]]; then
    verdict="exit $code, not $expected" failed=1
    tail -30 "$log" >&2
  fi
  rows+=("$(printf '%-9s %-20s %-44s %5d s  %s' "$suite" "$who" "$*" $((SECONDS - started)) "$verdict")")
  last=$log
}
carried=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do [[ -z ${!name:-} ]] || carried+=("$name=${!name}"); done

bare user
step someone 8 tools/demo.sh
grep -q "need root (or sudo) to install: " "$last" || { echo "bare: it does not say what to install" >&2; failed=1; }
chroot "$root" bash -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo" >"$work/sudo.log" 2>&1 || { cat "$work/sudo.log" >&2; refuse "sudo cannot be installed" 8; }
echo "someone ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/someone"
step "someone, with sudo" 0 tools/demo.sh
grep -E "test accuracy" "$last" | tail -1 >&2 || true

bare root
step root 0 tools/demo.sh
[[ -n $demo_only ]] || { step root 0 tools/test.sh; tail -1 "$last" >&2; }

printf '%s\n' "release   who                  command                                       time   result" "${rows[@]}"
exit $failed
