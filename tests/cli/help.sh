# The man page and the completions of all shells know every subcommand and every option that --help shows.
. "$PLIMSOLL_CLI/common.sh"

expect 0 plimsoll man; cp out page.1
for shell in bash zsh fish; do expect 0 plimsoll completion $shell; cp out completion.$shell; done
expect 2 plimsoll completion tcsh; says "shells: bash, zsh, fish"
expect 0 plimsoll --help
! grep '^  --[a-z]' out || fail "an option of one subcommand shows up for all"
commands=$(sed -n '/^usage:/,$s/^  \([a-z]\+\)  *[^ ].*/\1/p' out)
cp out general
expect 0 plimsoll help; diff general out || fail "help and --help differ"
[[ $(wc -w <<<"$commands") -ge 17 ]] || fail "the help lists too few subcommands: $commands"
for command in $commands; do
  for file in page.1 completion.bash completion.zsh completion.fish; do
    grep -q -- "\b$command\b" $file || fail "$command is not in $file"
  done
  expect 0 plimsoll $command --help
  cp out help.$command
  expect 0 plimsoll help $command; diff help.$command out || fail "help $command and $command --help differ"
  options=$({ grep -o '^  --\?[a-z][a-z0-9-]*' out || true; } | sed 's/^ *-*//' | sort -u)
  sed -n "/^\.SS plimsoll $command/,/^\.SS/p" page.1 | sed -n 's/^\.B \\-\(\\-\)\?\([a-z0-9\\-]*\).*/\2/p' |
    tr -d '\\' | sort -u >listed
  while read -r option; do
    grep -qx -- "$option" <<<"$options" || fail "$command has no --$option, but the man page does: $options"
    for file in completion.bash completion.zsh; do
      grep -q -- "-$option" $file || fail "--$option of $command is not in $file"
    done
    grep -q -- "__fish_seen_subcommand_from $command' -[sl] $option\b" completion.fish ||
      fail "--$option of $command is not in fish"
  done <listed
  diff listed <(echo "$options" | sed '/^$/d') || fail "the help of $command and the man page list other options"
  [[ $(grep -E '.{121}' out | wc -l) -eq 0 ]] || fail "the help of $command has long lines"
done
# The help explains every value of an option, in the description or on a line of its own. Only lists of devices and
# passes are too long for that.
plimsoll help --json >table.json
/usr/bin/python3 - table.json <<'EOF' || fail "a help lacks the values of an option"
import json, re, subprocess, sys
for command in json.load(open(sys.argv[1])):
    text = subprocess.run(["plimsoll", command["subcommand"], "--help"], capture_output=True, text=True).stdout
    for option in command["options"]:
        if option["option"] in ("--costs", "--print-after"): continue
        row = re.search(rf"^  {option['option']}[ \[].*?(?=^  -|^$|\Z)", text, re.M | re.S).group()
        for value in option["values"]:
            own_line = re.search(rf"^        {re.escape(value)}  ", row, re.M)
            if not own_line and not re.search(rf"\b{re.escape(value)}\b", option["description"]):
                sys.exit(f"{command['subcommand']} {option['option']}: {value} is not explained")
EOF
# Names with characters of several bytes are aligned like all others.
expect 0 plimsoll help profile; says "  --sub-batch N,N…          sizes"
# The most important options come first, in groups; an option without a group is still listed.
expect 0 plimsoll help compile
[[ $(grep -o '^  --\?[a-z-]*' out | head -3 | xargs) == "--batch --budget -o" ]] ||
  fail "the help of compile does not begin with what is needed"
says "how to meet the budget"; says "softmax-cross-entropy   of logits and class labels"
! grep '^others' out || fail "an option of compile is in no group: see help.cpp"
expect 2 plimsoll help nothing; says "'nothing' is not a subcommand"
sed -n '/^\.SS plimsoll plan/,/^\.SS/p' page.1 | tr -d '\\' >section
for option in budget policy batch what-if time-limit; do
  grep -q "^.B --$option" section || fail "plan --$option is not in the man page"
done

# bash really completes subcommands, options and values.
bash -n completion.bash
completions() {
  bash -c 'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plimsoll
    printf "%s\n" "${COMPREPLY[@]}"' _ "$@"
}
[[ $(completions plimsoll insp) == inspect ]] || fail "bash does not complete inspect"
completions plimsoll plan --po >completed; grep -qx -- --policy completed || fail "bash does not complete --policy"
completions plimsoll plan --policy superneurons:s >completed
grep -qx superneurons:speed completed || fail "bash does not complete a policy"
completions plimsoll plan --costs h2 >completed; grep -qx h200 completed || fail "bash does not complete a device"
if command -v zsh >/dev/null; then zsh -n completion.zsh; fi
if command -v fish >/dev/null; then fish -n completion.fish; fi
if command -v groff >/dev/null; then
  groff -k -man -Tutf8 -ww page.1 2>err >/dev/null; [[ ! -s err ]] || { cat err; fail "groff has something to say"; }
fi
