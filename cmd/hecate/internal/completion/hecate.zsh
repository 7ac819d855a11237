_hecate() {
  local cur=${words[CURRENT]} at='' flag='' kind='' word='' list='' n=0 i=2
  local -a given named
  named=(${words[2,CURRENT-1]})
  while (( i < CURRENT )); do
    word=${words[i]}
    (( i++ ))
    if [[ -n $flag ]]; then
      flag=''
      continue
    fi
    case $word in
    -*=*) ;;
    -*) [[ -z $(__hecate_takes "$at $word") ]] || flag=$word ;;
    *)
      if [[ " $(__hecate_words "$at") " == *" $word "* ]]; then
        at=${at:+$at }$word
      else
        (( n++ ))
      fi
      ;;
    esac
  done
  if [[ -z $flag && $cur == --*=* ]]; then
    flag=${cur%%=*}
    compset -P '*='
  fi
  if [[ -n $flag ]]; then
    kind=$(__hecate_takes "$at $flag")
  elif [[ $cur == -* ]]; then
    kind="one of $(__hecate_flags "$at")"
  else
    list=$(__hecate_words "$at")
    if [[ -n $list ]]; then kind="one of $list"; else kind=$(__hecate_args "$at $n"); fi
  fi
  case $kind in
  'one of '*) given=(${=${kind#one of }}) ;;
  file) _files; return ;;
  dir) _files -/; return ;;
  any | '') return 1 ;;
  *) given=(${(f)"$(command ${words[1]} complete $kind 2>/dev/null </dev/null | cut -f1)"})
    given=(${given:|named}) # what is named already is left out
    ;;
  esac
  compadd -a given
}

compdef _hecate hecate
