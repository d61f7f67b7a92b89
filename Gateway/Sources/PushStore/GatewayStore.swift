package import PushProtocol
package import PushRouting

/// The operations of a store that a gateway uses. A store contains providers, devices, pending pushes and the delivery
/// log.
///
/// An operation with a completion returns at once, and calls the completion only after it has returned. Operations for
/// one device are executed in the order of the requests.
package protocol GatewayStore: Sendable {
    /// The number of operations that are not yet durable.
    var depth: Int { get }
    /// Whether other gateways also use the store.
    var isShared: Bool { get }

    // MARK: Providers

    func providers() async throws(StoreError) -> ProviderRecords
    func addTeam(_ id: String, name: String, at: Int64) async throws(StoreError)
    /// Suspends a team, or ends its suspension.
    ///
    /// - Parameter time: the time of the suspension; nil to end the suspension.
    func suspendTeam(_ id: String, at time: Int64?) async throws(StoreError)
    func addKey(_ key: KeyRecord) async throws(StoreError)
    func revokeKey(_ id: String, at: Int64) async throws(StoreError)
    func addTopic(_ topic: TopicRecord) async throws(StoreError)

    // MARK: Devices

    /// Stores an enrolment code.
    ///
    /// - Parameter hash: the hash of the code. The code itself is not stored.
    func addEnrolment(hash: [UInt8], name: String, expiresAt: Int64, now: Int64) async throws(StoreError)
    /// Creates a device with an enrolment code and deletes the code. Returns nil if the code is not valid.
    ///
    /// - Parameter name: the device's name; nil for the name that was given when the code was made.
    func enrol(
        _ id: DeviceID, hash: [UInt8], key: [UInt8], name: String?, now: Int64
    ) async throws(StoreError) -> DeviceRecord?
    func device(_ id: DeviceID) async throws(StoreError) -> DeviceRecord?
    /// Returns the record of a device that wants to connect. Writes nothing, so that devices can connect although the
    /// disk is full.
    func deviceConnects(_ id: DeviceID) async throws(StoreError) -> DeviceRecord?
    func devices(limit: Int) async throws(StoreError) -> [DeviceRecord]
    /// Revokes the device. Its tokens are unregistered, and its stored pushes are removed and logged as discarded.
    ///
    /// - Returns: the tokens that were in use.
    func revokeDevice(_ id: DeviceID, at: Int64) async throws(StoreError) -> [String]
    func token(_ token: String) async throws(StoreError) -> TokenRecord?
    func tokens(of device: DeviceID) async throws(StoreError) -> [TokenRecord]
    /// Returns the token of `topic` on `device`. If no token exists, or if `isFreshWanted` is set, stores `fresh` as
    /// the token in use. Refuses a revoked device.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of a device's tokens in use, and the maximum number of its ended tokens that are
    ///     remembered.
    ///   - isFreshWanted: whether to end the token in use and to replace it.
    /// - Returns: the token in use, and the token that it replaced.
    func register(
        _ topic: String, device: DeviceID, fresh: String, isFreshWanted: Bool, limit: Int, at: Int64
    ) async throws(StoreError) -> (token: String, ended: String?)
    /// Ends the token of an app that was removed. Its stored pushes are removed and logged as discarded.
    func unregister(_ topic: String, device: DeviceID, at: Int64) async throws(StoreError) -> String?

    // MARK: Pushes

    /// Stores `push` in its slot and writes `note` to the log. Completes when the push and the note are durable. The
    /// result contains the replaced pushes, as far as the store knows them.
    func store(
        _ push: Push, slot: Slot, heldUntil: Int64?, note: LogNote,
        completion: @escaping @Sendable (Result<Stored, StoreError>) -> Void)
    /// Reads the pushes stored for `device`.
    func waiting(for device: DeviceID, completion: @escaping @Sendable (Result<[QueuedPush], StoreError>) -> Void)
    /// Removes one push from storage, and writes `note` to the log. A push that has replaced it is not removed.
    func remove(
        _ place: StoredPlace, device: DeviceID, note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void)
    /// Removes a UnifiedPush message from storage and logs this. Completes with true if the message was stored.
    func withdraw(
        _ push: PushID, topic: String, device: DeviceID, at: Int64,
        completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void)

    // MARK: The log

    func write(_ note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void)
    /// Returns all log entries of `push`, oldest first.
    func log(of push: PushID) async throws(StoreError) -> [LogEntry]
    /// Returns about `limit` entries after the entry with the number `entry`, oldest first. The result is empty only at
    /// the end of the log.
    func log(after entry: Int64, limit: Int) async throws(StoreError) -> [LogEntry]
    func lastLogEntry() async throws(StoreError) -> Int64
    /// Sets whether someone follows the log. A shared store reports new entries only while the log is followed.
    func logIsFollowed(_ isFollowed: Bool)

    // MARK: The whole

    func counts() async throws(StoreError) -> StoreCounts
    /// Performs a durable write that changes nothing. Throws the error that currently prevents pushes from being
    /// stored.
    func probe() async throws(StoreError)
    /// Deletes expired pushes and old log entries.
    func tidy(now: RouteTime, logLimit: Int) async throws(StoreError)
    /// Returns a description of the store's corruption; nil if the store is intact.
    func check() async throws(StoreError) -> String?
    /// Returns when all earlier operations have completed.
    func settle() async throws(StoreError)
    func close() async throws(StoreError)

    // MARK: Shared

    /// Sets the listener for changes by other gateways. Must be called once, before any other operation.
    func listen(_ listener: any StoreListener)
    /// Reads changes by other gateways that were not yet reported, and reports them to the listener.
    ///
    /// A change is reported only once, and the report may be lost. A caller that relies on reports must call this
    /// function from time to time.
    func catchUp() async throws(StoreError)
    /// Records that the device is connected to this gateway. From then on, the listener receives the device's pushes.
    func attach(_ device: DeviceID, connection: UInt64, at: Int64)
    func detach(_ device: DeviceID, connection: UInt64)
    /// Uses one token of the bucket for silent pushes, which all gateways share. The result says whether one was left.
    func takeSilent(
        _ topic: String, device: DeviceID, _ settings: TokenBucket.Settings, wallSeconds: Double,
        completion: @escaping @Sendable (Result<TokenBucket.Verdict, StoreError>) -> Void)
    /// Asks the gateway to which the device is connected whether each alert of `topic` is kept. Completes with the
    /// result of ``DeviceRoute/keepsEach(_:)`` there.
    func keepsEach(
        _ topic: String, of device: DeviceID, completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void)
    /// Offers a push with only one attempt to the gateway to which its device is connected. Completes with the reason
    /// for which the push was not sent; nil if it was sent.
    func offer(
        _ push: Push, completion: @escaping @Sendable (Result<DeliveryEvent.Discard?, StoreError>) -> Void)
}

/// A receiver of changes that other gateways make to a shared store.
package protocol StoreListener: AnyObject, Sendable {
    /// Handles the report that a push for an attached device is in the store.
    func arrived(_ stored: QueuedPush)
    /// Returns whether each alert of `topic` is kept for a device that may be attached.
    func keepsEach(_ topic: String, of device: DeviceID) -> Bool
    /// Handles a push with only one attempt for a device that may be attached. Returns the reason for which the push is
    /// not sent; nil if it is sent.
    func offered(_ push: Push) -> DeliveryEvent.Discard?
    /// Handles the report that the device has connected to another gateway. The store also sends this report when it
    /// cannot rule out such a connection.
    func superseded(_ device: DeviceID, connection: UInt64, _ refusal: Refusal)
    /// Handles the report that earlier reports may have been lost.
    func mayHaveMissed()
    func providersChanged()
    func changed(_ device: DeviceID, tokens: [String], isRevoked: Bool)
    func logGrew()
}

/// The teams, keys and topics that are needed to check every push.
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

/// A push that is durable, with the pushes that it replaced and the pushes that were removed to make room.
package struct Stored: Sendable, Hashable {
    package var stored: QueuedPush
    package var replaced: [PushID]
    package var evicted: [PushID]

    package init(stored: QueuedPush, replaced: [PushID] = [], evicted: [PushID] = []) {
        self.stored = stored
        self.replaced = replaced
        self.evicted = evicted
    }
}

/// A note for the delivery log: one or several events of one push at the same time.
package struct LogNote: Sendable, Hashable {
    package var push: PushID
    /// The time of the events, in milliseconds since 1970.
    package var at: Int64
    /// The push itself, if this note is its first log entry.
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
    package func waiting(for device: DeviceID) async throws(StoreError) -> [QueuedPush] {
        let result: Result<[QueuedPush], StoreError> = await withCheckedContinuation { continuation in
            waiting(for: device) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}
