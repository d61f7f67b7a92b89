#include "CPage.h"

// The compilers that read Swift's C targets know #embed; that it came with C23 is no news.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "Resources/index.html"
};
static const unsigned char icon_svg[] = {
#embed "Resources/icon.svg"
};
