import NightshiftAPI

/// The toplevel windows of a Wayland compositor, as wlr-foreign-toplevel-management tells of them, and which is in front.
///
/// Pure. Changes of a window count together, from `done` on. Titles are not kept.
struct ToplevelList {
    private struct Toplevel {
        var applicationID: String?
        var isActivated = false
    }

    /// The windows as the compositor has finished telling, and as it is about to.
    private var told: [UInt64: Toplevel] = [:]
    private var pending: [UInt64: Toplevel] = [:]
    /// Activated windows, the last one being the one that became so last: there is one for each seat.
    private var activated: [UInt64] = []

    /// Windows that are followed at once. Nobody has so many; a compositor that tells of more has gone astray.
    static let most = 10_000

    /// The application in front; nil where no window is activated.
    var front: FrontApplication? {
        activated.last.map { FrontApplication(applicationID: told[$0]?.applicationID) }
    }

    /// A window has come to be; false where it is not to be followed.
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
