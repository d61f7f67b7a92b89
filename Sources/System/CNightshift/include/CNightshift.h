// The only C code that apps link. It consists of shims without logic.
#ifndef CNIGHTSHIFT_H
#define CNIGHTSHIFT_H

#include "CNightshiftCurl.h"
#include "CNightshiftInflate.h"
#include "CNightshiftKeeper.h"
#include "CNightshiftKernel.h"
#include "CNightshiftProcess.h"
#include "CNightshiftSpawn.h"

#endif
