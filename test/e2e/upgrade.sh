# A job that the reference started goes on under our operator. Sourced.

check_upgrade() {
  local began before job_set
  under=reference
  start_reference
  began=$(now)
  rm -f "$state/shared/upgraded" "$state/shared/upgraded.end"
  create upgraded
  until_true 180 'upgraded: it trains under the reference' stepped upgraded 3
  before=$(pods_and_restarts upgraded)
  job_set=$(job_set_of upgraded)
  under=ours
  install_operator upgrade --reset-values
  until_true 60 'upgraded: it trains on' stepped upgraded $(($(<"$state/shared/upgraded") + 100))
  touch "$state/shared/upgraded.end"
  await upgraded Complete 120
  equals "$(pods_and_restarts upgraded)" "$before" 'upgraded: its Pods'
  equals "$(job_set_of upgraded)" "$job_set" 'upgraded: its JobSet'
  logs_of upgraded
  different 2 'rank=[01]/2 steps=[0-9]+$' 'upgraded: ranks'
  different 1 'steps=[0-9]+$' 'upgraded: steps'
  row 'torch, the operator swapped in the middle' "Kubeflow Trainer → Cotrain" \
    'started by the reference, which `helm upgrade` to our chart replaces; ended under ours: Complete; the same Pods, never restarted, the same JobSet, all steps in one life' "$(since "$began")" 2
  remove upgraded
}
# Its generation changes with its specification.
job_set_of() { of_team get jobset "$1" -o 'jsonpath={.metadata.uid} {.metadata.generation}'; }
