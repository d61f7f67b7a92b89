#include "CDesktop.h"

#include <dlfcn.h>
#include <stddef.h>

/// A function's or a variable's name, and where in a table its address goes.
struct symbol {
    const char *name;
    size_t offset;
};

static bool load(const char *library, const struct symbol *symbols, size_t count, void *table) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return false;
    for (size_t index = 0; index < count; index++) {
        void *address = dlsym(handle, symbols[index].name);
        if (address == NULL) {
            dlclose(handle);
            return false;
        }
        *(void **)((char *)table + symbols[index].offset) = address;
    }
    return true;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define XCB(name) {"xcb_" #name, offsetof(struct nightshift_xcb, name)}

bool nightshift_xcb_load(struct nightshift_xcb *table) {
    static const struct symbol symbols[] = {
        XCB(connect_to_display_with_auth_info),
        XCB(disconnect),
        XCB(connection_has_error),
        XCB(get_file_descriptor),
        XCB(get_setup),
        XCB(setup_roots_iterator),
        XCB(screen_next),
        XCB(flush),
        XCB(poll_for_event),
        XCB(poll_for_reply),
        XCB(intern_atom),
        XCB(change_window_attributes),
        XCB(get_property),
        XCB(get_property_value),
        XCB(get_property_value_length),
    };
    return load("libxcb.so.1", symbols, COUNT(symbols), table);
}

#define WAYLAND(name) {"wl_" #name, offsetof(struct nightshift_wayland, name)}

bool nightshift_wayland_load(struct nightshift_wayland *table) {
    static const struct symbol symbols[] = {
        WAYLAND(display_connect_to_fd),
        WAYLAND(display_disconnect),
        WAYLAND(display_get_fd),
        WAYLAND(display_get_error),
        WAYLAND(display_dispatch_pending),
        WAYLAND(display_prepare_read),
        WAYLAND(display_read_events),
        WAYLAND(display_flush),
        WAYLAND(proxy_add_dispatcher),
        WAYLAND(proxy_marshal_array),
        WAYLAND(proxy_marshal_array_constructor_versioned),
        WAYLAND(proxy_destroy),
        WAYLAND(registry_interface),
        WAYLAND(callback_interface),
    };
    return load("libwayland-client.so.0", symbols, COUNT(symbols), table);
}

// wlr-foreign-toplevel-management-unstable-v1, version 3. The order of requests and events is the protocol, and so are
// the signatures: i int, u uint, s string, o object, n new object, a array, ? may be null, a number the version since.
// Objects of interfaces that are not used here are not checked for theirs.

static const struct wl_interface *no_types[] = {NULL, NULL, NULL, NULL, NULL};
static const struct wl_interface toplevel_interface;
static const struct wl_interface *toplevel_types[] = {&toplevel_interface};

static const struct wl_message manager_requests[] = {
    {"stop", "", no_types},
};

static const struct wl_message manager_events[] = {
    {"toplevel", "n", toplevel_types},
    {"finished", "", no_types},
};

static const struct wl_interface manager_interface = {
    "zwlr_foreign_toplevel_manager_v1", 3,
    COUNT(manager_requests), manager_requests,
    COUNT(manager_events), manager_events,
};

static const struct wl_message toplevel_requests[] = {
    {"set_maximized", "", no_types},
    {"unset_maximized", "", no_types},
    {"set_minimized", "", no_types},
    {"unset_minimized", "", no_types},
    {"activate", "o", no_types},
    {"close", "", no_types},
    {"set_rectangle", "oiiii", no_types},
    {"destroy", "", no_types},
    {"set_fullscreen", "2?o", no_types},
    {"unset_fullscreen", "2", no_types},
};

static const struct wl_message toplevel_events[] = {
    {"title", "s", no_types},
    {"app_id", "s", no_types},
    {"output_enter", "o", no_types},
    {"output_leave", "o", no_types},
    {"state", "a", no_types},
    {"done", "", no_types},
    {"closed", "", no_types},
    {"parent", "3?o", toplevel_types},
};

static const struct wl_interface toplevel_interface = {
    "zwlr_foreign_toplevel_handle_v1", 3,
    COUNT(toplevel_requests), toplevel_requests,
    COUNT(toplevel_events), toplevel_events,
};

const struct wl_interface *nightshift_toplevel_manager_description(void) {
    return &manager_interface;
}
