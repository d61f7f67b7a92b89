/// The application whose window its user has in front, by the names that its window carries.
///
/// Nothing else of the window is known: no title, and nothing of what it shows.
package struct FrontApplication: Hashable, Sendable {
    /// Wayland's `app_id`, or `_GTK_APPLICATION_ID`: as a rule the id of the desktop entry.
    package var applicationID: String?
    /// `WM_CLASS`: the instance's name, then the class's.
    package var windowClasses: [String]
    /// `_NET_WM_PID`, of a window of this machine.
    package var processID: Int32?

    /// The longest name that is believed; a file's name is no longer.
    package static let longestName = 255

    package init(applicationID: String? = nil, windowClasses: [String] = [], processID: Int32? = nil) {
        self.applicationID = applicationID
        self.windowClasses = windowClasses
        self.processID = processID
    }

    /// Whether nothing tells whose the window is.
    package var isNameless: Bool { applicationID == nil && windowClasses.isEmpty && processID == nil }
}

/// Who tells what is in front, and which app that is.
package struct FrontStatus: Hashable, Sendable, Codable {
    /// Nil where nobody tells.
    package var source: Source?
    /// Why nobody tells.
    package var detail: String?
    /// The app whose window is in front: an installed one, or one that the service knows otherwise.
    package var app: AppID?

    package enum Source: String, Sendable, Codable, CaseIterable {
        /// The Wayland protocol wlr-foreign-toplevel-management.
        case wlrForeignToplevel = "wlr-foreign-toplevel"
        /// The window manager of an X11 display: `_NET_ACTIVE_WINDOW`.
        case x11 = "X11"
    }

    package init(source: Source? = nil, detail: String? = nil, app: AppID? = nil) {
        self.source = source
        self.detail = detail
        self.app = app
    }
}
