# pdlaunch in fish: pdlaunch --show-completion fish | source
function __pdlaunch
    set -l line (commandline -opc) (commandline -ct)
    _PDLAUNCH_COMPLETE=1 $line[1] $line[2..-1] 2>/dev/null
end
complete -c pdlaunch -k -a '(__pdlaunch)'
