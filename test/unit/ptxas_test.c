// SPDX-License-Identifier: MIT
// ptxas options of a fatbin's PTX.
#include "check.h"
#include "driver/module.h"

static void
test_fmad(void)
{
    static const struct {
        const char *options;
        bool fmad;
    } cases[] = {
        {"", true},
        {"-maxrregcount=40 --compile-only", true},
        {"--fmad false", false},
        {"--fmad=false", false},
        {"-fmad=false", false},
        {"-fmad false -regUsageLevel=4", false},
        {"--compile-only  --fmad no", false},
        {"--fmad true", true},
        {"--fmad=false --fmad=true", true},
        {"--fmad falsehood", true},
        {"--fmadness false", true},
        {"--ext-desc-file=--fmad=false", true},
        {"--fmad", true},
        {"fmad false", true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        ok(ptxas_fmad(cases[k].options) == cases[k].fmad, "'%s'", cases[k].options);
}

CHECK_MAIN(T(test_fmad))
