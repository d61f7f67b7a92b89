/// Determines whether the window manager of an X display reports the active window.
///
/// Pure. A window manager lists `_NET_ACTIVE_WINDOW` in `_NET_SUPPORTED`, which may remain after it has ended. While it
/// runs it has a window of its own, which `_NET_SUPPORTING_WM_CHECK` names (Extended Window Manager Hints).
struct WindowManagerWord: Equatable {
    private enum Check: Equatable {
        case notAsked
        /// No window manager has named a window.
        case none
        /// The window that is named has not answered yet.
        case asked(UInt32)
        case alive(UInt32)
        case gone
    }

    /// Whether the active window is among the supported hints; nil until that is known.
    var listsActiveWindow: Bool?
    private var check = Check.notAsked

    /// Whether the active window is reported; nil until that is known.
    var isTold: Bool? {
        guard let listsActiveWindow else { return nil }
        return switch check {
        case .notAsked, .asked: nil
        case .none, .alive: listsActiveWindow
        case .gone: false
        }
    }

    /// Handles the name of the window manager's own window; 0 means none.
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

    /// Handles the answer of a window, or that it does not exist.
    mutating func answered(_ window: UInt32, isThere: Bool) {
        guard check == .asked(window) else { return }
        check = isThere ? .alive(window) : .gone
    }

    mutating func closed(_ window: UInt32) {
        if check == .alive(window) || check == .asked(window) { check = .gone }
    }
}
