# pdlaunch in bash: eval "$(pdlaunch --show-completion bash)"
_pdlaunch() {
    local IFS=$'\n'
    COMPREPLY=($(_PDLAUNCH_COMPLETE=1 "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _pdlaunch pdlaunch
