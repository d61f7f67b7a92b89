/// Whether a window manager of an X display tells which window is active.
///
/// Pure. A window manager lists `_NET_ACTIVE_WINDOW` in `_NET_SUPPORTED`, which may outlive it. While it is there it has a
/// window of its own, which `_NET_SUPPORTING_WM_CHECK` names (Extended Window Manager Hints).
struct WindowManagerWord: Equatable {
    private enum Check: Equatable {
        case notAsked
        /// No window manager has named one.
        case none
        /// A window that has not answered yet.
        case asked(UInt32)
        case alive(UInt32)
        case gone
    }

    /// Whether the active window is among what is supported; nil until that is known.
    var listsActiveWindow: Bool?
    private var check = Check.notAsked

    /// Nil until that is known.
    var isTold: Bool? {
        guard let listsActiveWindow else { return nil }
        return switch check {
        case .notAsked, .asked: nil
        case .none, .alive: listsActiveWindow
        case .gone: false
        }
    }

    /// The window manager's own window is this one, 0 being none.
    ///
    /// - Returns: whether the window is to be asked whether it is there.
    mutating func named(_ window: UInt32) -> Bool {
        switch check {
        case .alive(window), .asked(window): return false
        case .notAsked where window == 0, .none where window == 0: check = .none
        case .notAsked, .none, .asked, .alive, .gone: check = window == 0 ? .gone : .asked(window)
        }
        return window != 0
    }

    /// A window has answered, or is not there.
    mutating func answered(_ window: UInt32, isThere: Bool) {
        guard check == .asked(window) else { return }
        check = isThere ? .alive(window) : .gone
    }

    mutating func closed(_ window: UInt32) {
        if check == .alive(window) || check == .asked(window) { check = .gone }
    }
}
