import NightshiftAPI

/// The toplevel windows of a Wayland compositor, as wlr-foreign-toplevel-management reports them, and the window in the
/// foreground.
///
/// A pure value. Changes of a window take effect when the compositor sends `done`. Window titles are not kept.
struct ToplevelList {
    private struct Toplevel {
        var applicationID: String?
        var isActivated = false
    }

    /// The last complete state of each window. ``pending`` holds the state that is still being received.
    private var told: [UInt64: Toplevel] = [:]
    private var pending: [UInt64: Toplevel] = [:]
    /// The activated windows. The last one was activated most recently. Each seat may have one.
    private var activated: [UInt64] = []

    /// The maximum number of windows that are followed. A compositor that reports more is faulty.
    static let most = 10_000

    /// The application in the foreground; nil if no window is activated.
    var front: FrontApplication? {
        activated.last.map { FrontApplication(applicationID: told[$0]?.applicationID) }
    }

    /// Adds a new window. Returns false if there are too many windows to follow it.
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
