package import PushProtocol
package import PushRouting

/// What a gateway asks of its store: who may send what to whom, what is stored, and what became of each push.
///
/// Operations with a completion return at once, and never complete before they return. What is asked for a device is
/// done in that order.
package protocol GatewayStore: Sendable {
    /// How much waits to be durable.
    var depth: Int { get }
    /// Whether other gateways use it, too.
    var isShared: Bool { get }

    // MARK: Providers

    func providers() async throws(StoreError) -> ProviderRecords
    func addTeam(_ id: String, name: String, at: Int64) async throws(StoreError)
    /// - Parameter time: nil lets the team send again.
    func suspendTeam(_ id: String, at time: Int64?) async throws(StoreError)
    func addKey(_ key: KeyRecord) async throws(StoreError)
    func revokeKey(_ id: String, at: Int64) async throws(StoreError)
    func addTopic(_ topic: TopicRecord) async throws(StoreError)

    // MARK: Devices

    /// - Parameter hash: of the code; the code itself is nowhere.
    func addEnrolment(hash: [UInt8], name: String, expiresAt: Int64, now: Int64) async throws(StoreError)
    /// Makes a device of a code that is good; the code is used up. Nil where it is not good.
    ///
    /// - Parameter name: nil takes the name that the code was made for.
    func enrol(
        _ id: DeviceID, hash: [UInt8], key: [UInt8], name: String?, now: Int64
    ) async throws(StoreError) -> DeviceRecord?
    func device(_ id: DeviceID) async throws(StoreError) -> DeviceRecord?
    /// The device wants to connect; gives what is known of it. Nothing is written, so that a full disk keeps nobody out.
    func deviceConnects(_ id: DeviceID) async throws(StoreError) -> DeviceRecord?
    func devices(limit: Int) async throws(StoreError) -> [DeviceRecord]
    /// The device is let in no more, its tokens are unregistered, and what is stored for it is gone, which the log
    /// says.
    ///
    /// - Returns: the tokens that were in use.
    func revokeDevice(_ id: DeviceID, at: Int64) async throws(StoreError) -> [String]
    func token(_ token: String) async throws(StoreError) -> TokenRecord?
    func tokens(of device: DeviceID) async throws(StoreError) -> [TokenRecord]
    /// The token of `topic` on `device`: the one in use, or `fresh`, which becomes the one in use. A device that is
    /// revoked has none.
    ///
    /// - Parameters:
    ///   - limit: of tokens in use that a device may have, and of ended ones that are remembered.
    ///   - isFreshWanted: ends the one in use.
    /// - Returns: the token, and the one that it has ended.
    func register(
        _ topic: String, device: DeviceID, fresh: String, isFreshWanted: Bool, limit: Int, at: Int64
    ) async throws(StoreError) -> (token: String, ended: String?)
    /// The app is gone: its token is ended, and what is stored for it is gone, too, which the log says.
    func unregister(_ topic: String, device: DeviceID, at: Int64) async throws(StoreError) -> String?

    // MARK: Pushes

    /// Makes `push` durable in its slot, and writes `note` down. Completes with what it took the place of, as far as
    /// the store knows.
    func store(
        _ push: Push, slot: Slot, heldUntil: Int64?, note: LogNote,
        completion: @escaping @Sendable (Result<Stored, StoreError>) -> Void)
    /// What is stored for `device`.
    func waiting(for device: DeviceID, completion: @escaping @Sendable (Result<[StoredPush], StoreError>) -> Void)
    /// Takes one push from storage, and never what took its place, and writes `note` down.
    func remove(
        _ place: StoredPlace, device: DeviceID, note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void)
    /// Takes a message of UnifiedPush back from storage, which the log says; completes with whether it was there.
    func withdraw(
        _ push: PushID, topic: String, device: DeviceID, at: Int64,
        completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void)

    // MARK: The log

    func write(_ note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void)
    /// All that is known of `push`, oldest first.
    func log(of push: PushID) async throws(StoreError) -> [LogEntry]
    /// Entries behind `entry`, oldest first, some `limit` of them; none where there are no more.
    func log(after entry: Int64, limit: Int) async throws(StoreError) -> [LogEntry]
    func lastLogEntry() async throws(StoreError) -> Int64
    /// Somebody follows the log, or does no more. A shared store tells its growth only meanwhile.
    func logIsFollowed(_ isFollowed: Bool)

    // MARK: The whole

    func counts() async throws(StoreError) -> StoreCounts
    /// Makes something durable that changes nothing; throws what keeps pushes from being stored.
    func probe() async throws(StoreError)
    /// Throws away what nobody wants any more.
    func tidy(now: Moment, logLimit: Int) async throws(StoreError)
    /// Says what is wrong with the store; nil where it is whole.
    func check() async throws(StoreError) -> String?
    /// Returns when what was asked for before is done.
    func settle() async throws(StoreError)
    func close() async throws(StoreError)

    // MARK: Shared

    /// Who hears what other gateways do. Called once, before anything else.
    func listen(_ listener: any StoreListener)
    /// Reads what other gateways have changed and the listener has not heard of, and tells it.
    ///
    /// A change is told once, and may be lost on its way: whoever believes what was told asks once in a while.
    func catchUp() async throws(StoreError)
    /// The device is connected here, which is written down. From now on the listener hears of its pushes.
    func attach(_ device: DeviceID, connection: UInt64, at: Int64)
    func detach(_ device: DeviceID, connection: UInt64)
    /// Takes a silent push's place in the bucket that all gateways share.
    func takeSilent(
        _ topic: String, device: DeviceID, _ settings: TokenBucket.Settings, wallSeconds: Double,
        completion: @escaping @Sendable (Result<TokenBucket.Verdict, StoreError>) -> Void)
    /// Completes with whether each alert of `topic` is kept for the device: ``DeviceRoute/keepsEach(_:)`` of the gateway that has it.
    func keepsEach(
        _ topic: String, of device: DeviceID, completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void)
    /// Offers a push that has one attempt to the gateway that has its device; completes with why it did not go.
    func offer(
        _ push: Push, completion: @escaping @Sendable (Result<DeliveryEvent.Discard?, StoreError>) -> Void)
}

/// Hears what other gateways do with a store that is shared.
package protocol StoreListener: AnyObject, Sendable {
    /// A push for a device that is attached is in the store.
    func arrived(_ stored: StoredPush)
    /// Whether each alert of `topic` is kept for a device that may be attached.
    func keepsEach(_ topic: String, of device: DeviceID) -> Bool
    /// A push with one attempt, for a device that may be attached; gives why it does not go.
    func offered(_ push: Push) -> DeliveryEvent.Discard?
    /// The device has connected to another gateway, or the store cannot say that it has not.
    func superseded(_ device: DeviceID, connection: UInt64, _ refusal: Refusal)
    /// What was told may have been missed.
    func mayHaveMissed()
    func providersChanged()
    func changed(_ device: DeviceID, tokens: [String], isRevoked: Bool)
    func logGrew()
}

/// Teams, keys and topics: what is asked with every push.
package struct ProviderRecords: Sendable, Hashable {
    package var teams: [TeamRecord] = []
    package var keys: [KeyRecord] = []
    package var topics: [TopicRecord] = []

    package init(teams: [TeamRecord] = [], keys: [KeyRecord] = [], topics: [TopicRecord] = []) {
        self.teams = teams
        self.keys = keys
        self.topics = topics
    }
}

/// A push that is durable, those whose place it has taken, and those that made room for it.
package struct Stored: Sendable, Hashable {
    package var stored: StoredPush
    package var replaced: [PushID]
    package var evicted: [PushID]

    package init(stored: StoredPush, replaced: [PushID] = [], evicted: [PushID] = []) {
        self.stored = stored
        self.replaced = replaced
        self.evicted = evicted
    }
}

/// What the log is told of one push at one time.
package struct LogNote: Sendable, Hashable {
    package var push: PushID
    /// Milliseconds since 1970.
    package var at: Int64
    /// The push itself, where this is the first that is said of it.
    package var received: Push?
    package var withPayload = false
    package var events: [DeliveryEvent]

    package init(_ push: PushID, _ events: [DeliveryEvent], at: Int64) {
        self.push = push
        self.events = events
        self.at = at
    }

    package init(received push: Push, withPayload: Bool, _ events: [DeliveryEvent], at: Int64) {
        self.init(push.id, events, at: at)
        received = push
        self.withPayload = withPayload
    }
}

extension GatewayStore {
    package func waiting(for device: DeviceID) async throws(StoreError) -> [StoredPush] {
        let result: Result<[StoredPush], StoreError> = await withCheckedContinuation { continuation in
            waiting(for: device) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}
