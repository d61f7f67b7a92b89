import CNATS
import Foundation
import PushStore
import Synchronization

/// A connection to a cluster of NATS servers. It reconnects to another server automatically.
///
/// Many requests may be pending at a time. Answers may arrive in any order. Thread-safe. Completions are called on
/// threads of libnats, and only after the call that they belong to has returned.
final class NATSConnection: Sendable {
    typealias Completion = @Sendable (Result<[UInt8], StoreError>) -> Void

    private struct Pending {
        var deadline: ContinuousClock.Instant
        var completion: Completion
    }

    private struct State {
        var isConnected = false
        var last: UInt64 = 0
        var pending: [UInt64: Pending] = [:]
        var isTimed = false
        /// The number of unsent messages that expect no reply.
        var unsent = 0
        /// The function that is called after a reconnection.
        var returned: (@Sendable () -> Void)?
    }

    /// A pointer to an object of libnats. The library locks the object itself.
    private struct Handle: @unchecked Sendable {
        var pointer: OpaquePointer
    }

    static let gone = StoreError(.unavailable, "No NATS server responds.")

    private let inbox: String
    private let state = Mutex(State())
    private let handle = Mutex<Handle?>(nil)
    private let replies = Mutex<NATSSubscription?>(nil)
    /// The queue that completes failed requests after the call has returned.
    private let queue = DispatchQueue(label: "nightshift.nats")
    /// The queue that sends messages in the order of the calls. A server that does not read blocks this queue, but no
    /// caller.
    private let sending = DispatchQueue(label: "nightshift.nats.sending")

    /// Connects to one of the servers.
    init(_ settings: NATSSettings) throws(StoreError) {
        var random = SystemRandomNumberGenerator()
        inbox = "_INBOX.nightshift" + String(random.next(), radix: 36) + String(random.next(), radix: 36)
        nats_Open(-1)
        nats_SetMessageDeliveryPoolSize(4)
        let pointer = try Self.connect(settings, self)
        handle.withLock { $0 = Handle(pointer: pointer) }
        state.withLock { $0.isConnected = true }
        let subscription = try subscribe(inbox + ".*") { [weak self] in self?.answered($0) }
        replies.withLock { $0 = subscription }
    }

    private static func connect(
        _ settings: NATSSettings, _ connection: NATSConnection
    ) throws(StoreError) -> OpaquePointer {
        var options: OpaquePointer?
        try check(natsOptions_Create(&options))
        defer { natsOptions_Destroy(options) }
        // Keep the connection as long as the program runs, because a closing connection may call back at any time.
        let closure = Unmanaged.passRetained(connection).toOpaque()
        let servers = settings.servers.map { strdup($0.url) }
        defer { for server in servers { free(server) } }
        var names = servers.map { UnsafePointer($0) }
        try check(natsOptions_SetServers(options, &names, Int32(names.count)))
        try check(natsOptions_SetName(options, "nightshift-gateway"))
        try check(natsOptions_SetMaxReconnect(options, -1))
        try check(natsOptions_SetReconnectWait(options, 250))
        try check(natsOptions_SetReconnectJitter(options, 250, 250))
        try check(natsOptions_SetTimeout(options, 3_000))
        try check(natsOptions_SetPingInterval(options, 5_000))
        try check(natsOptions_SetMaxPingsOut(options, 2))
        // Set a deadline. Otherwise a server that does not read would block every call, including the pings that
        // detect this.
        try check(natsOptions_SetWriteDeadline(options, 2_000))
        // Let thousands of subscriptions share four threads.
        try check(natsOptions_UseGlobalMessageDelivery(options, true))
        if let authority = settings.authority {
            try check(natsOptions_SetSecure(options, true))
            try check(natsOptions_LoadCATrustedCertificates(options, authority))
        }
        if let credentials = settings.credentials {
            try check(natsOptions_SetUserCredentialsFromFiles(options, credentials, nil))
        }
        try check(
            natsOptions_SetDisconnectedCB(
                options, { _, closure in NATSConnection.from(closure)?.disconnected() }, closure))
        try check(
            natsOptions_SetReconnectedCB(
                options, { _, closure in NATSConnection.from(closure)?.reconnected() }, closure))
        // Without a handler, the library prints errors to standard error. Callers receive their errors as results.
        try check(natsOptions_SetErrorHandler(options, { _, _, _, _ in }, nil))
        var pointer: OpaquePointer?
        let status = natsConnection_Connect(&pointer, options)
        guard status == NATS_OK, let pointer else {
            // The library's error text may contain parts of a URL that it cannot parse, so it is not shown if a URL
            // has a secret.
            let hasSecret = settings.servers.contains(where: \.hasSecret)
            let words = hasSecret ? nil : nats_GetLastError(nil).map { String(cString: $0) }
            let reason = words ?? String(cString: natsStatus_GetText(status))
            let printed = settings.servers.map(\.description).joined(separator: ", ")
            throw StoreError(.unavailable, "NATS at \(printed): \(reason)")
        }
        return pointer
    }

    private static func from(_ closure: UnsafeMutableRawPointer?) -> NATSConnection? {
        closure.map { Unmanaged<NATSConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    static func check(_ status: natsStatus) throws(StoreError) {
        guard status == NATS_OK else {
            throw StoreError(.unavailable, "NATS: \(String(cString: natsStatus_GetText(status)))")
        }
    }

    // MARK: - The connection

    /// Sets the function to call after a reconnection.
    func whenReturned(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.returned = body }
    }

    private func disconnected() {
        let failed = state.withLock { state in
            state.isConnected = false
            defer { state.pending = [:] }
            return state.pending.values.map(\.completion)
        }
        for completion in failed { completion(.failure(Self.gone)) }
    }

    private func reconnected() {
        let returned = state.withLock { state in
            state.isConnected = true
            return state.returned
        }
        returned?()
    }

    /// The number of unanswered requests and unsent messages.
    var depth: Int { state.withLock { $0.pending.count + $0.unsent } }

    func close() {
        sending.sync {}
        let last = handle.withLock { handle in
            defer { handle = nil }
            return handle
        }
        guard let last else { return }
        natsConnection_FlushTimeout(last.pointer, 2_000)
        natsConnection_Close(last.pointer)
        natsConnection_Destroy(last.pointer)
        disconnected()
    }

    /// Waits until the server has read all messages that were sent before this call.
    func flush() throws(StoreError) {
        sending.sync {}
        guard let pointer = handle.withLock({ $0 })?.pointer else { throw Self.gone }
        try Self.check(natsConnection_FlushTimeout(pointer, 5_000))
    }

    // MARK: - Messages

    func subscribe(
        _ subject: String, _ body: @escaping @Sendable (NATSMessage) -> Void
    ) throws(StoreError) -> NATSSubscription {
        guard let pointer = handle.withLock({ $0 })?.pointer else { throw Self.gone }
        return try NATSSubscription(pointer, subject, body)
    }

    /// Sends a message that needs no answer. The loss of the message is not reported.
    func publish(_ subject: String, _ data: [UInt8]) {
        let isConnected = state.withLock { state in
            if state.isConnected { state.unsent += 1 }
            return state.isConnected
        }
        guard isConnected else { return }
        sending.async { [self] in
            defer { state.withLock { $0.unsent -= 1 } }
            guard let pointer = handle.withLock({ $0 })?.pointer else { return }
            data.withUnsafeBytes { _ = natsConnection_Publish(pointer, subject, $0.baseAddress, Int32($0.count)) }
        }
    }

    /// Sends a request, and calls `completion` with the answer.
    func request(
        _ subject: String, _ data: [UInt8], headers: [(name: String, value: String)] = [],
        timeout: Duration = .seconds(5), completion: @escaping Completion
    ) {
        let number = state.withLock { state -> UInt64? in
            guard state.isConnected else { return nil }
            state.last += 1
            state.pending[state.last] = Pending(deadline: .now + timeout, completion: completion)
            if !state.isTimed {
                state.isTimed = true
                watch()
            }
            return state.last
        }
        guard let number else { return queue.async { completion(.failure(Self.gone)) } }
        sending.async { [self] in
            // Do not send a request that has timed out in the meantime.
            guard state.withLock({ $0.pending[number] != nil }) else { return }
            if send(subject, data, headers, reply: "\(inbox).\(number)") != NATS_OK {
                queue.async { self.take(number)?(.failure(Self.gone)) }
            }
        }
    }

    private func send(
        _ subject: String, _ data: [UInt8], _ headers: [(name: String, value: String)], reply: String
    ) -> natsStatus {
        guard let pointer = handle.withLock({ $0 })?.pointer else { return NATS_CONNECTION_CLOSED }
        return data.withUnsafeBytes { bytes -> natsStatus in
            if headers.isEmpty {
                return natsConnection_PublishRequest(pointer, subject, reply, bytes.baseAddress, Int32(bytes.count))
            }
            var message: OpaquePointer?
            let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            var status = natsMsg_Create(&message, subject, reply, text, Int32(bytes.count))
            for header in headers where status == NATS_OK {
                status = natsMsgHeader_Set(message, header.name, header.value)
            }
            if status == NATS_OK { status = natsConnection_PublishMsg(pointer, message) }
            natsMsg_Destroy(message)
            return status
        }
    }

    private func take(_ number: UInt64) -> Completion? {
        state.withLock { $0.pending.removeValue(forKey: number)?.completion }
    }

    private func answered(_ message: NATSMessage) {
        guard let number = UInt64(message.subject.dropFirst(inbox.count + 1)), let completion = take(number) else {
            return
        }
        completion(message.isFromNobody ? .failure(StoreError(.unavailable, Self.nobody)) : .success(message.bytes))
    }

    /// The error message for a request that no subscriber receives.
    static let nobody = "No subscriber answered the request."

    /// Checks for requests that have timed out, and completes them with an error. Runs as long as requests are pending.
    private func watch() {
        queue.asyncAfter(deadline: .now() + 0.5) { [self] in
            let (late, goesOn) = state.withLock { state in
                let late = state.pending.filter { $0.value.deadline <= .now }
                for number in late.keys { state.pending[number] = nil }
                state.isTimed = !state.pending.isEmpty
                return (late.values.map(\.completion), state.isTimed)
            }
            for completion in late { completion(.failure(StoreError(.unavailable, "NATS did not answer in time."))) }
            if goesOn { watch() }
        }
    }

    /// Calls `body` after a pause.
    func pause(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + seconds, execute: body)
    }
}

/// A received message, which is valid only while its handler runs.
struct NATSMessage {
    fileprivate let pointer: OpaquePointer

    var subject: String { String(cString: natsMsg_GetSubject(pointer)) }
    var isFromNobody: Bool { natsMsg_IsNoResponders(pointer) }

    var bytes: [UInt8] {
        guard let data = natsMsg_GetData(pointer) else { return [] }
        return Array(UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(pointer))))
    }

    func header(_ name: String) -> String? {
        var value: UnsafePointer<CChar>?
        guard natsMsgHeader_Get(pointer, name, &value) == NATS_OK, let value else { return nil }
        return String(cString: value)
    }

    /// The subject to which an answer is published; nil if none is expected.
    var reply: String? { natsMsg_GetReply(pointer).map { String(cString: $0) } }
}

/// A subscription to a subject. It ends when the object is released.
final class NATSSubscription: @unchecked Sendable {
    // The pointer is set once. It is only passed to libnats, which locks the object itself.
    private let pointer: OpaquePointer

    private final class Body {
        let call: @Sendable (NATSMessage) -> Void

        init(_ call: @escaping @Sendable (NATSMessage) -> Void) {
            self.call = call
        }
    }

    fileprivate init(
        _ connection: OpaquePointer, _ subject: String, _ body: @escaping @Sendable (NATSMessage) -> Void
    ) throws(StoreError) {
        let closure = Unmanaged.passRetained(Body(body))
        var pointer: OpaquePointer?
        let status = natsConnection_Subscribe(
            &pointer, connection, subject,
            { _, _, message, closure in
                defer { natsMsg_Destroy(message) }
                guard let message, let closure else { return }
                Unmanaged<Body>.fromOpaque(closure).takeUnretainedValue()
                    .call(NATSMessage(pointer: message))
            }, closure.toOpaque())
        guard status == NATS_OK, let pointer else {
            closure.release()
            throw NATSConnection.gone
        }
        self.pointer = pointer
        // When this callback runs, the last call to the handler has returned.
        natsSubscription_SetOnCompleteCB(
            pointer, { if let closure = $0 { Unmanaged<Body>.fromOpaque(closure).release() } }, closure.toOpaque())
    }

    deinit {
        natsSubscription_Destroy(pointer)
    }
}
