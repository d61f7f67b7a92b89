#include "CPage.h"

// #embed belongs to C23. Every compiler that builds this target supports it.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_js[] = {
#embed "Resources/api.js"
};
static const unsigned char app_js[] = {
#embed "Resources/app.js"
};
static const unsigned char device_js[] = {
#embed "Resources/device.js"
};
static const unsigned char dom_js[] = {
#embed "Resources/dom.js"
};
static const unsigned char format_js[] = {
#embed "Resources/format.js"
};
static const unsigned char icon_svg[] = {
#embed "Resources/icon.svg"
};
static const unsigned char index_html[] = {
#embed "Resources/index.html"
};
static const unsigned char journal_copy_js[] = {
#embed "Resources/journal-copy.js"
};
static const unsigned char journal_js[] = {
#embed "Resources/journal.js"
};
static const unsigned char list_js[] = {
#embed "Resources/list.js"
};
static const unsigned char store_js[] = {
#embed "Resources/store.js"
};
static const unsigned char style_css[] = {
#embed "Resources/style.css"
};
static const unsigned char switcher_js[] = {
#embed "Resources/switcher.js"
};
static const unsigned char timeline_paint_js[] = {
#embed "Resources/timeline-paint.js"
};
static const unsigned char timeline_view_js[] = {
#embed "Resources/timeline-view.js"
};
static const unsigned char timeline_js[] = {
#embed "Resources/timeline.js"
};
static const unsigned char transfer_dialogs_js[] = {
#embed "Resources/transfer-dialogs.js"
};
static const unsigned char transfers_js[] = {
#embed "Resources/transfers.js"
};
static const unsigned char why_js[] = {
#embed "Resources/why.js"
};
static const unsigned char add_dialog_js[] = {
#embed "Resources/add-dialog.js"
};
static const unsigned char rate_graph_js[] = {
#embed "Resources/rate-graph.js"
};
static const unsigned char transfer_actions_js[] = {
#embed "Resources/transfer-actions.js"
};
static const unsigned char transfer_details_js[] = {
#embed "Resources/transfer-details.js"
};

static const struct nightshift_page_file files[] = {
    {"api.js", api_js, sizeof api_js},
    {"app.js", app_js, sizeof app_js},
    {"device.js", device_js, sizeof device_js},
    {"dom.js", dom_js, sizeof dom_js},
    {"format.js", format_js, sizeof format_js},
    {"icon.svg", icon_svg, sizeof icon_svg},
    {"index.html", index_html, sizeof index_html},
    {"journal-copy.js", journal_copy_js, sizeof journal_copy_js},
    {"journal.js", journal_js, sizeof journal_js},
    {"list.js", list_js, sizeof list_js},
    {"store.js", store_js, sizeof store_js},
    {"style.css", style_css, sizeof style_css},
    {"switcher.js", switcher_js, sizeof switcher_js},
    {"timeline-paint.js", timeline_paint_js, sizeof timeline_paint_js},
    {"timeline-view.js", timeline_view_js, sizeof timeline_view_js},
    {"timeline.js", timeline_js, sizeof timeline_js},
    {"transfer-dialogs.js", transfer_dialogs_js, sizeof transfer_dialogs_js},
    {"transfers.js", transfers_js, sizeof transfers_js},
    {"why.js", why_js, sizeof why_js},
    {"add-dialog.js", add_dialog_js, sizeof add_dialog_js},
    {"rate-graph.js", rate_graph_js, sizeof rate_graph_js},
    {"transfer-actions.js", transfer_actions_js, sizeof transfer_actions_js},
    {"transfer-details.js", transfer_details_js, sizeof transfer_details_js},
};

const struct nightshift_page_file *nightshift_page_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
