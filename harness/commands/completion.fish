# The words of powercut's arguments.

function _powercut_names  # a kind
  set -l command (commandline -opc)[1]
  $command list --names $argv[1] 2>/dev/null
end

function _powercut_list  # words: one more after the last comma
  set -l before (string replace -r '[^,]*$' '' -- (commandline -ct))
  printf '%s\n' "$before"$argv
end

function _powercut_profiles
  _powercut_list (_powercut_names profiles)
end

function _powercut_experiments
  _powercut_names experiments
end

function _powercut_guests
  _powercut_names guests
end

function _powercut_hosts
  _powercut_names hosts
end

function _powercut_workload_or_file
  _powercut_names workloads
  __fish_complete_suffix .workload
end

function _powercut_kernel_or_dir
  set -l before (string match -r '.*\+' -- (commandline -ct))
  if test -n "$before"
    set -l found (_powercut_names series)
    printf '%s\n' "$before"$found
  else
    _powercut_names kernels
    __fish_complete_directories
  end
end
