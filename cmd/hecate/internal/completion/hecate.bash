_hecate() {
  local cur=${COMP_WORDS[COMP_CWORD]} at='' flag='' kind='' word='' list='' n=0 i=1
  COMPREPLY=()
  while [ "$i" -lt "$COMP_CWORD" ]; do
    word=${COMP_WORDS[i]}
    i=$((i + 1))
    if [ -n "$flag" ]; then # "--flag=value" comes as three words
      [ "$word" = = ] || flag=''
      continue
    fi
    case $word in
    -*) [ -z "$(__hecate_takes "$at $word")" ] || flag=$word ;;
    *)
      case " $(__hecate_words "$at") " in
      *" $word "*) at=${at:+$at }$word ;;
      *) n=$((n + 1)) ;;
      esac
      ;;
    esac
  done
  if [ -n "$flag" ]; then
    [ "$cur" != = ] || cur=''
    kind=$(__hecate_takes "$at $flag")
  else
    case $cur in
    -*) kind="one of $(__hecate_flags "$at")" ;;
    *)
      list=$(__hecate_words "$at")
      if [ -n "$list" ]; then kind="one of $list"; else kind=$(__hecate_args "$at $n"); fi
      ;;
    esac
  fi
  case $kind in
  'one of '*) list=$(compgen -W "${kind#one of }" -- "$cur") ;;
  file) list=$(compgen -f -- "$cur") ;;
  dir) list=$(compgen -d -- "$cur") ;;
  any | '') return ;;
  *)
    for word in $(command "${COMP_WORDS[0]}" complete "$kind" 2>/dev/null </dev/null | cut -f1); do
      case " ${COMP_WORDS[*]:1:COMP_CWORD-1} " in
      *" $word "*) ;; # it is named already
      *) list="$list $word" ;;
      esac
    done
    list=$(compgen -W "$list" -- "$cur")
    ;;
  esac
  case $kind in
  file | dir) compopt -o filenames 2>/dev/null ;;
  esac
  [ -z "$list" ] || while IFS= read -r word; do COMPREPLY+=("$word"); done <<<"$list"
}

complete -F _hecate hecate
