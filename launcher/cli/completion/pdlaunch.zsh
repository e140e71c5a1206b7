#compdef pdlaunch
# pdlaunch in zsh, after compinit: eval "$(pdlaunch --show-completion zsh)"
_pdlaunch() {
    local -a found
    found=(${(f)"$(_PDLAUNCH_COMPLETE=1 ${words[1]} "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _pdlaunch pdlaunch
