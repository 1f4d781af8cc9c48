# The words of powercut's arguments.

_powercut_names() {  # a kind; in $found
  local command=powercut
  (( $+commands[powercut] )) || command=./powercut
  found=(${(f)"$($command list --names $1 2>/dev/null)"})
}

_powercut_list() {  # words: one more after the last comma
  compset -P '*,'
  compadd -S '' -- "$@"
}

_powercut_profiles() {
  local -a found
  _powercut_names profiles
  _powercut_list $found
}

_powercut_experiments() {
  local -a found
  _powercut_names experiments
  compadd -- $found
}

_powercut_guests() {
  local -a found
  _powercut_names guests
  compadd -- $found
}

_powercut_hosts() {
  local -a found
  _powercut_names hosts
  compadd -- $found
}

_powercut_workload_or_file() {
  local -a found
  _powercut_names workloads
  compadd -- $found
  _files -g '*.workload'
}

_powercut_kernel_or_dir() {
  local -a found
  if compset -P '*+'; then
    _powercut_names series
    compadd -S '' -- $found
  else
    _powercut_names kernels
    compadd -S '' -- $found
    _files -/
  fi
}
