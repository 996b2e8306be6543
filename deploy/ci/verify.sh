#!/usr/bin/env bash
# Calls the agent once, then prints what was found in each form that CI reads. Ends as `ostiary verify` ended:
# 0 PASS, 1 FAIL, 2 used wrongly, 3 INCONCLUSIVE, 4 could not run.
set -euo pipefail

bundle=${OSTIARY_CI_BUNDLE:?the bundle is not named}
environment=${OSTIARY_CI_ENVIRONMENT:?the environment file is not named}
gate=${OSTIARY_CI_GATE:-all}
out=${OSTIARY_CI_OUT:-ostiary-report}
inconclusive=${OSTIARY_CI_INCONCLUSIVE:-fail}
program=${OSTIARY_CI_PROGRAM:-ostiary}

case $inconclusive in
fail | warn) ;;
*)
    echo "inconclusive: \`$inconclusive\` is neither fail nor warn" >&2
    exit 2
    ;;
esac

mkdir -p "$out"
recording=$out/run.json
# what an earlier run left must not be taken for this one's
rm -f "$recording" "$out"/report.{sarif,xml,md,json}

code=0
"$program" verify "$bundle" --env "$environment" --gate "$gate" --record "$recording" || code=$?

if [[ -s $recording ]]; then
    for form in sarif:sarif junit:xml markdown:md json:json; do
        judged=0
        "$program" judge "$recording" --bundle "$bundle" --format "${form%%:*}" >"$out/report.${form##*:}" || judged=$?
        # a verdict is no error of the printing; anything else is
        case $judged in
        0 | 1 | 3) ;;
        *) exit "$judged" ;;
        esac
    done
fi

case $code in
0) verdict=PASS ;;
1) verdict=FAIL ;;
3) verdict=INCONCLUSIVE ;;
*) verdict= ;;
esac

if [[ -n ${GITHUB_OUTPUT:-} ]]; then
    {
        echo "verdict=$verdict"
        echo "sarif=$out/report.sarif"
        echo "junit=$out/report.xml"
        echo "recording=$recording"
    } >>"$GITHUB_OUTPUT"
fi
if [[ -n ${GITHUB_STEP_SUMMARY:-} && -s $out/report.md ]]; then
    cat "$out/report.md" >>"$GITHUB_STEP_SUMMARY"
fi

if [[ $code -eq 3 && $inconclusive == warn ]]; then
    echo "::warning::INCONCLUSIVE: something could not be told; a registry admits nobody on it"
    exit 0
fi
exit "$code"
