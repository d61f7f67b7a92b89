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
    private let reloads = Mutex(Rounds())
    private let rechecks = Mutex(Rounds())

    /// Devices that are read at once when something may have been missed, and the pause behind them: ten seconds or so
    /// for all that a gateway may have.
    private static let portion = 200
    private static let pause = Duration.milliseconds(100)
    /// Until what could not be read is read again.
    private static let patience = Duration.seconds(5)

    /// A round of reading that is under way, and whether a further one is wanted behind it.
    struct Rounds {
        var isUnderWay = false
        var isWanted = false

        /// Whether the caller begins: nobody else is at it.
        mutating func want() -> Bool {
            isWanted = true
            defer { isUnderWay = true }
            return !isUnderWay
        }

        mutating func begins() -> Bool {
            isUnderWay = isWanted
            isWanted = false
            return isUnderWay
        }
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

    func keepsEach(_ topic: String, of device: DeviceID) -> Bool {
        switchboard.keepsEach(topic, of: device)
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
        // Ends when nothing was missed since its last round.
        if rechecks.withLock({ $0.want() }) { Task { await recheck() } }
    }

    private func recheck() async {
        while rechecks.withLock({ $0.begins() }) {
            var devices = switchboard.connected[...]
            while !devices.isEmpty {
                switchboard.recheck(devices.prefix(Self.portion))
                devices = devices.dropFirst(Self.portion)
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    func providersChanged() {
        // Ends when nothing has changed since its last reading.
        if reloads.withLock({ $0.want() }) { Task { await reload() } }
    }

    private func reload() async {
        while reloads.withLock({ $0.begins() }) {
            do throws(StoreError) {
                try await directory.reload()
            } catch {
                logger.error("Who may send could not be read again.", metadata: ["reason": "\(error)"])
                // Nobody tells of the change a second time.
                _ = reloads.withLock { $0.want() }
                try? await Task.sleep(for: Self.patience)
            }
        }
    }

    func changed(_ device: DeviceID, tokens: [String], isRevoked: Bool) {
        directory.forget(tokens)
        if isRevoked { switchboard.revoked(device) }
    }

    func logGrew() {
        growth.grew()
    }
}
