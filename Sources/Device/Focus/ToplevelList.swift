import NightshiftAPI

/// The toplevel windows of a Wayland compositor, as reported by wlr-foreign-toplevel-management, and the one in the
/// foreground.
///
/// Pure. Changes of a window take effect together with `done`. Titles are not kept.
struct ToplevelList {
    private struct Toplevel {
        var applicationID: String?
        var isActivated = false
    }

    /// The windows with the last complete state, and with the state that is still being sent.
    private var told: [UInt64: Toplevel] = [:]
    private var pending: [UInt64: Toplevel] = [:]
    /// Activated windows, the most recently activated last. There may be one for each seat.
    private var activated: [UInt64] = []

    /// The maximum number of windows that are followed. More of them indicate a faulty compositor.
    static let most = 10_000

    /// The application in front; nil where no window is activated.
    var front: FrontApplication? {
        activated.last.map { FrontApplication(applicationID: told[$0]?.applicationID) }
    }

    /// Handles a new window. Returns false if it is not followed.
    mutating func opened(_ window: UInt64) -> Bool {
        guard pending.count < Self.most else { return false }
        pending[window] = Toplevel()
        return true
    }

    mutating func named(_ window: UInt64, _ applicationID: String) {
        let isName = !applicationID.isEmpty && applicationID.utf8.count <= FrontApplication.longestName
        pending[window]?.applicationID = isName ? applicationID : nil
    }

    mutating func stateIs(_ window: UInt64, isActivated: Bool) {
        pending[window]?.isActivated = isActivated
    }

    mutating func finished(_ window: UInt64) {
        guard let toplevel = pending[window] else { return }
        let wasActivated = told[window]?.isActivated ?? false
        told[window] = toplevel
        guard toplevel.isActivated != wasActivated else { return }
        activated.removeAll { $0 == window }
        if toplevel.isActivated { activated.append(window) }
    }

    mutating func closed(_ window: UInt64) {
        told[window] = nil
        pending[window] = nil
        activated.removeAll { $0 == window }
    }
}
