// libxcb and libwayland-client, loaded when they are first needed: a machine without a desktop has neither. A shim
// without logic.
#ifndef CDESKTOP_H
#define CDESKTOP_H

#include <stdbool.h>
#include <wayland-client-core.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>

/// What is used of libxcb, under its own names without their prefix.
struct nightshift_xcb {
    __typeof__(&xcb_connect_to_display_with_auth_info) connect_to_display_with_auth_info;
    __typeof__(&xcb_disconnect) disconnect;
    __typeof__(&xcb_connection_has_error) connection_has_error;
    __typeof__(&xcb_get_file_descriptor) get_file_descriptor;
    __typeof__(&xcb_get_setup) get_setup;
    __typeof__(&xcb_setup_roots_iterator) setup_roots_iterator;
    __typeof__(&xcb_screen_next) screen_next;
    __typeof__(&xcb_flush) flush;
    __typeof__(&xcb_poll_for_event) poll_for_event;
    __typeof__(&xcb_poll_for_reply) poll_for_reply;
    __typeof__(&xcb_intern_atom) intern_atom;
    __typeof__(&xcb_change_window_attributes) change_window_attributes;
    __typeof__(&xcb_get_property) get_property;
    __typeof__(&xcb_get_property_value) get_property_value;
    __typeof__(&xcb_get_property_value_length) get_property_value_length;
};

/// Fills the table from `libxcb.so.1`, which stays loaded; false where that cannot be had.
bool nightshift_xcb_load(struct nightshift_xcb *table);

/// What is used of libwayland-client, under its own names without their prefix.
struct nightshift_wayland {
    __typeof__(&wl_display_connect_to_fd) display_connect_to_fd;
    __typeof__(&wl_display_disconnect) display_disconnect;
    __typeof__(&wl_display_get_fd) display_get_fd;
    __typeof__(&wl_display_get_error) display_get_error;
    __typeof__(&wl_display_dispatch_pending) display_dispatch_pending;
    __typeof__(&wl_display_prepare_read) display_prepare_read;
    __typeof__(&wl_display_read_events) display_read_events;
    __typeof__(&wl_display_flush) display_flush;
    __typeof__(&wl_proxy_add_dispatcher) proxy_add_dispatcher;
    __typeof__(&wl_proxy_marshal_array) proxy_marshal_array;
    __typeof__(&wl_proxy_marshal_array_constructor_versioned) proxy_marshal_array_constructor_versioned;
    __typeof__(&wl_proxy_destroy) proxy_destroy;
    const struct wl_interface *registry_interface;
    const struct wl_interface *callback_interface;
};

/// Fills the table from `libwayland-client.so.0`, which stays loaded; false where that cannot be had.
bool nightshift_wayland_load(struct nightshift_wayland *table);

/// `zwlr_foreign_toplevel_manager_v1`, version 3, which announces every toplevel window. Debian 12 does not package its
/// description.
const struct wl_interface *nightshift_toplevel_manager_description(void);

#endif
