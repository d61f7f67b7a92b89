/// The application whose window has the focus, identified by the names that its window carries.
///
/// The service reads no other property of the window, such as its title or its contents.
package struct FrontApplication: Hashable, Sendable {
    /// The value of `app_id` of Wayland, or of `_GTK_APPLICATION_ID`. It is usually the id of the desktop entry.
    package var applicationID: String?
    /// The instance name and the class name of `WM_CLASS`, in this order.
    package var windowClasses: [String]
    /// The value of `_NET_WM_PID`, if the window belongs to this machine.
    package var processID: Int32?

    /// The maximum length of an accepted name. File names cannot be longer.
    package static let longestName = 255

    package init(applicationID: String? = nil, windowClasses: [String] = [], processID: Int32? = nil) {
        self.applicationID = applicationID
        self.windowClasses = windowClasses
        self.processID = processID
    }

    /// Whether the window has no name or process id that identifies its application.
    package var isNameless: Bool { applicationID == nil && windowClasses.isEmpty && processID == nil }
}

/// The app in the foreground, and the source of this information.
package struct FrontStatus: Hashable, Sendable, Codable {
    /// The source; nil if no source is available.
    package var source: Source?
    /// The reason why ``source`` is nil.
    package var detail: String?
    /// The app whose window has the focus. It is an installed app, or another app that the service knows.
    package var app: AppID?

    package enum Source: String, Sendable, Codable, CaseIterable {
        /// The Wayland protocol wlr-foreign-toplevel-management.
        case wlrForeignToplevel = "wlr-foreign-toplevel"
        /// The window manager of an X11 display, by `_NET_ACTIVE_WINDOW`.
        case x11 = "X11"
    }

    package init(source: Source? = nil, detail: String? = nil, app: AppID? = nil) {
        self.source = source
        self.detail = detail
        self.app = app
    }
}
