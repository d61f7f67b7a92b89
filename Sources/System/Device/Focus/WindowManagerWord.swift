/// A check whether the window manager of an X display reports the active window.
///
/// A pure value. A window manager lists `_NET_ACTIVE_WINDOW` in `_NET_SUPPORTED`, and this list may remain after the
/// window manager has ended. A running window manager has a window of its own, whose number is in
/// `_NET_SUPPORTING_WM_CHECK` (Extended Window Manager Hints).
struct WindowManagerWord: Equatable {
    private enum Check: Equatable {
        case notAsked
        /// No window manager has published its own window.
        case none
        /// The window manager's own window has not answered yet.
        case asked(UInt32)
        case alive(UInt32)
        case gone
    }

    /// Whether the supported hints contain the active window; nil until the hints are known.
    var listsActiveWindow: Bool?
    private var check = Check.notAsked

    /// Whether the window manager reports the active window; nil until that is known.
    var isTold: Bool? {
        guard let listsActiveWindow else { return nil }
        return switch check {
        case .notAsked, .asked: nil
        case .none, .alive: listsActiveWindow
        case .gone: false
        }
    }

    /// Handles the number of the window manager's own window; 0 means that there is no such window.
    ///
    /// - Returns: whether to check that the window exists.
    mutating func named(_ window: UInt32) -> Bool {
        switch check {
        case .alive(window), .asked(window): return false
        case .notAsked where window == 0, .none where window == 0: check = .none
        case .notAsked, .none, .asked, .alive, .gone: check = window == 0 ? .gone : .asked(window)
        }
        return window != 0
    }

    /// Handles the result of the check whether a window exists.
    mutating func answered(_ window: UInt32, isThere: Bool) {
        guard check == .asked(window) else { return }
        check = isThere ? .alive(window) : .gone
    }

    mutating func closed(_ window: UInt32) {
        if check == .alive(window) || check == .asked(window) { check = .gone }
    }
}
