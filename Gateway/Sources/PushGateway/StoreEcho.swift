import Logging
import PushProtocol
import PushRouting
import PushStore
import Synchronization

/// Carries what other gateways do with a shared store to this one's parts.
final class StoreEcho: StoreListener {
    private let directory: Directory
    private let switchboard: Switchboard
    private let growth: LogSignal
    private let logger: Logger
    private let reloads = Mutex(Reloads())

    /// A reload that is under way, and whether something has changed behind its back.
    fileprivate struct Reloads {
        var isUnderWay = false
        var isWanted = false
    }

    init(directory: Directory, switchboard: Switchboard, growth: LogSignal, logger: Logger) {
        self.directory = directory
        self.switchboard = switchboard
        self.growth = growth
        self.logger = logger
    }

    func arrived(_ stored: StoredPush) {
        switchboard.arrived(stored)
    }

    func offered(_ push: Push) -> DeliveryEvent.Discard? {
        switchboard.offered(push)
    }

    func superseded(_ device: DeviceID, connection: UInt64, _ refusal: Refusal) {
        switchboard.superseded(connection, refusal)
    }

    func mayHaveMissed() {
        directory.forgetTokens()
        providersChanged()
        switchboard.recheck()
    }

    func providersChanged() {
        let begins = reloads.withLock { reloads in
            reloads.isWanted = true
            defer { reloads.isUnderWay = true }
            return !reloads.isUnderWay
        }
        // Ends when nothing has changed since its last reading.
        if begins { Task { await reload() } }
    }

    private func reload() async {
        while reloads.withLock({ $0.begins() }) {
            do throws(StoreError) {
                try await directory.reload()
            } catch {
                // The store comes back, says that something was missed, and this begins anew.
                logger.error("Who may send could not be read again.", metadata: ["reason": "\(error)"])
            }
        }
    }

    func changed(_ device: DeviceID, tokens: [String], isRevoked: Bool) {
        directory.forget(tokens)
        if isRevoked { switchboard.end(device, Refusal(.notAuthenticated, "The device was revoked.")) }
    }

    func logGrew() {
        growth.grew()
    }
}

extension StoreEcho.Reloads {
    /// Whether a further reading is wanted; none is under way otherwise.
    fileprivate mutating func begins() -> Bool {
        isUnderWay = isWanted
        isWanted = false
        return isUnderWay
    }
}
