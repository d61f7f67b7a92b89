import Logging
import PushProtocol
import PushRouting
import PushStore
import Synchronization

/// A listener that forwards changes by other gateways of a shared store to the components of this gateway.
final class StoreEcho: StoreListener {
    private let directory: Directory
    private let switchboard: Switchboard
    private let growth: LogSignal
    private let logger: Logger
    private let reloads = Mutex(Rounds())
    private let rechecks = Mutex(Rounds())

    /// The number of devices that are read together when changes may have been missed. A `pause` follows each portion,
    /// so that it takes about ten seconds to read all devices of a gateway.
    private static let portion = 200
    private static let pause = Duration.milliseconds(100)
    /// The pause before a failed read is retried.
    private static let timeout = Duration.seconds(5)

    /// Whether a round of reads is running, and whether another round is needed after it.
    struct Rounds {
        var isUnderWay = false
        var isWanted = false

        /// Requests a round. Returns true if no round is running, so that the caller must start one.
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

    func arrived(_ stored: QueuedPush) {
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
        // The task ends when no changes were missed since its last round.
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
        // The task ends when no values have changed since its last read.
        if reloads.withLock({ $0.want() }) { Task { await reload() } }
    }

    private func reload() async {
        while reloads.withLock({ $0.begins() }) {
            do throws(StoreError) {
                try await directory.reload()
            } catch {
                logger.error("Teams, keys and topics could not be read again.", metadata: ["reason": "\(error)"])
                // The store does not report a change twice, so request another round.
                _ = reloads.withLock { $0.want() }
                try? await Task.sleep(for: Self.timeout)
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
