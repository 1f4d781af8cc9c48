# The words of powercut's arguments. $1 is the word that is being completed.

_powercut_names() {  # a kind
  "${COMP_WORDS[0]}" list --names "$1" 2>/dev/null
}

_powercut_list() {  # words, the word up to the cursor: one more after the last comma
  local before=""
  [[ $2 == *,* ]] && before="${2%,*},"
  compgen -P "$before" -W "$1" -- "${2##*,}"
}

_powercut_profiles() {
  _powercut_list "$(_powercut_names profiles)" "$1"
}

_powercut_experiments() {
  compgen -W "$(_powercut_names experiments)" -- "$1"
}

_powercut_guests() {
  compgen -W "$(_powercut_names guests)" -- "$1"
}

_powercut_hosts() {
  compgen -W "$(_powercut_names hosts)" -- "$1"
}

# "_file" and "_dir" in a name let bash add a slash to a folder.
_powercut_workload_or_file() {
  compgen -W "$(_powercut_names workloads)" -- "$1"
  compgen -f -X '!*.workload' -- "$1"
  compgen -d -- "$1"
}

_powercut_kernel_or_dir() {
  if [[ $1 == *+* ]]; then
    compgen -P "${1%+*}+" -W "$(_powercut_names series)" -- "${1##*+}"
  else
    compgen -W "$(_powercut_names kernels)" -- "$1"
    compgen -d -- "$1"
  fi
}
