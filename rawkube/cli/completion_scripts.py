"""Pure: the scripts that make a shell call `rawkube __complete` at a TAB."""

from __future__ import annotations

_BASH = r"""# bash completion for rawkube: source <(rawkube completion bash)
_rawkube() {
    local words=() word found line keep i join=""
    # bash cuts words at = and :, which are parts of a word here.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if ((${#words[@]})) && [[ $word == [=:]* || (-n $join && -n $word && $COMP_LINE == *"$join$word"*) ]]; then
            words[${#words[@]}-1]+="$word"
        else
            words+=("$word")
        fi
        join=""
        [[ $word == *[=:] ]] && join="$word"
    done
    found="$(rawkube __complete -- "${words[@]}" 2>/dev/null </dev/null)"
    word="${words[${#words[@]}-1]}"
    keep="${word%"${word##*[=:]}"}"
    COMPREPLY=()
    while IFS= read -r line; do
        case "$line" in
            "") ;;
            :files)
                compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${word##*[=:]}")
                ;;
            *)
                [[ $line == *[=/:] ]] && compopt -o nospace 2>/dev/null
                COMPREPLY+=("${line#"$keep"}")
                ;;
        esac
    done <<< "$found"
}
complete -F _rawkube rawkube
"""

_ZSH = r"""#compdef rawkube
# zsh completion for rawkube: source <(rawkube completion zsh), after compinit
_rawkube() {
    local -a found open
    local line files=""
    for line in "${(@f)$(rawkube __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
        case "$line" in
            "") ;;
            :files) files=1 ;;
            *[=/:]) open+=("$line") ;;
            *) found+=("$line") ;;
        esac
    done
    ((${#found})) && compadd -- "${found[@]}"
    ((${#open})) && compadd -S '' -- "${open[@]}"
    if [[ -n $files ]]; then
        compset -P '*[=:]'
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _rawkube "$@"
else
    compdef _rawkube rawkube
fi
"""

_FISH = r"""# fish completion for rawkube: rawkube completion fish | source
function __rawkube_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (rawkube __complete -- $words[2..-1] "$current" 2>/dev/null </dev/null)
        if test "$line" = ":files"
            __fish_complete_path (string replace -r '^.*[=:]' '' -- "$current")
        else
            printf '%s\n' $line
        end
    end
end
complete -c rawkube -f -a '(__rawkube_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""The script of each shell."""
