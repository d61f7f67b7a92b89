import Clock
import Foundation
package import NightshiftAPI
import NightshiftCurl
import PushProtocol
import Runtime

/// A caller waiting for an app's token.
struct TokenWaiter {
    var app: AppID
    var continuation: CheckedContinuation<Void, Never>
}

/// The push requests of users and apps.
extension PushService {
    /// The number of seconds for which a registration waits for its token. ``enrolmentTimeout`` is the same for an
    /// enrolment.
    private static let tokenTimeout = 10.0
    private static let enrolmentTimeout = 40.0

    // MARK: - Status

    package func status() async throws(Problem) -> PushStatus {
        try await readEntries()
        for app in pushes.apps.keys { await learn(app) }
        let now = reading
        func date(_ boot: Double) -> Date { Date(timeIntervalSince1970: now.wallSeconds + boot - now.bootSeconds) }
        let (connection, sentence) = connectionWords(now)
        var status = PushStatus(
            connection: connection, sentence: sentence, apps: pushes.statuses(now: now.wallSeconds))
        status.unifiedPush = unified.statuses(of: nil)
        status.enrolment = pushes.device.enrolment
        status.lastHeard = plan.lastHeard.map(date)
        switch plan.phase {
        case .waiting(let until): status.next = date(until)
        case .open:
            status.next = plan.nextDeadline.map(date)
            status.keepAlive = plan.interval
        case .off, .offline, .connecting: break
        }
        return status
    }

    private func connectionWords(_ now: ClockReading) -> (PushStatus.Connection, String) {
        switch plan.phase {
        case .off:
            let why =
                pushes.device.enrolment == nil
                ? "This device is not enrolled at a push gateway. 'nightshift push enrol URL' enrols it."
                : "No app has registered for remote notifications or UnifiedPush, so there is no connection."
            return (.off, why)
        case .offline: return (.offline, "No network is available. The service connects when there is one.")
        case .connecting: return (.connecting, "The service is connecting to the gateway.")
        case .open: return (.open, "The service is connected to the gateway, and receives pushes at once.")
        case .waiting: return (.waiting, "\(plan.trouble ?? "The last attempt failed.") The service will try again.")
        }
    }

    package func status(of app: AppID) async throws(Problem) -> AppPushStatus {
        try await readEntries()
        await learn(app)
        let unifiedPush = unified.statuses(of: app)
        var status = pushes.status(of: app, now: reading.wallSeconds)
        if status == nil, unifiedPush != nil {
            // UnifiedPush apps are identified by their bus names, and need no desktop entry.
            status = AppPushStatus(app: app, name: app.rawValue, alerts: .ask)
            status?.sentence = "The app has registered for UnifiedPush."
        }
        guard var status else {
            try pushes.require(app)
            throw .notFound("There is no app '\(app)'.")
        }
        status.unifiedPush = unifiedPush
        return status
    }

    /// Returns the push notice for a process that connects; nil for an app that has not registered.
    package func notice(for app: AppID) -> PushNotice? { pushes.notice(for: app) }

    // MARK: - Registration

    /// Registers an app, and requests its token.
    ///
    /// - Parameter waits: whether to wait a few seconds for the token.
    package func register(_ app: AppID, waits: Bool = true) async throws(Problem) -> AppPushStatus {
        if pushes.manifests[app] == nil { try await readEntries() }
        await learn(app)
        try await change { (states, now) throws(Problem) in try states.pushes.register(app, now: now) }
        if waits { await waitForToken(of: app) }
        return try await status(of: app)
    }

    package func unregister(_ app: AppID) async throws(Problem) {
        try await change { (states, now) throws(Problem) in
            _ = states.unified.unregister(app, now: now)
            states.pushes.unregister(app, now: now)
        }
        resumeWaiters(of: app)
    }

    private func waitForToken(of app: AppID) async {
        guard let notice = pushes.notice(for: app), notice.token == nil, notice.error == nil, !part.isClosed else {
            return
        }
        lastWaiter += 1
        let (id, clock, end) = (lastWaiter, environment.clock, reading.bootSeconds + Self.tokenTimeout)
        let timeout = Task {
            try? await clock.sleep(untilBootSeconds: end)
            self.resumeWaiter(id)
        }
        await withCheckedContinuation { waiters[id] = TokenWaiter(app: app, continuation: $0) }
        timeout.cancel()
    }

    func resumeWaiters(of app: AppID) {
        for (id, waiter) in waiters where waiter.app == app { resumeWaiter(id) }
    }

    func resumeWaiter(_ id: Int) { waiters.removeValue(forKey: id)?.continuation.resume() }

    // MARK: - Enrolment

    /// Enrols this device at a gateway, with a new key.
    package func enrol(_ request: PushEnrolmentRequest) async throws(Problem) -> PushStatus {
        guard part.isOpen else { throw part.refusal }
        let address = try PushAddress(request.url)
        if let there = pushes.device.enrolment {
            throw .conflict(
                "This device is enrolled at \(there.host):\(there.port). 'nightshift push leave' ends that enrolment."
            )
        }
        guard !isEnrolling else { throw .conflict("Another enrolment is in progress. Wait until it has ended.") }
        if let authority = request.authority { try Self.check(authority) }
        isEnrolling = true
        defer { isEnrolling = false }
        let (key, open) = try Self.newKey()
        let purpose = DeviceChannel.Purpose.enrol(code: address.code, key: open, name: Self.name(request.name))
        let device = try await enrolment(address, request.authority, purpose).get()
        do throws(PushKey.Failure) {
            try key.write(to: keyFile(device.description))
        } catch {
            throw .unavailable("\(error) The enrolment was lost. Use a new code.")
        }
        let enrolment = PushStatus.Enrolment(
            host: address.host, port: address.port, device: device.description, enrolled: reading.date)
        do throws(Problem) {
            try await change { (states, now) throws(Problem) in
                states.pushes.enrolled(enrolment, authority: request.authority, now: now)
                states.unified.enrolled(true, now: now)
            }
        } catch {
            try? FileManager.default.removeItem(at: keyFile(enrolment.device))
            throw .unavailable("\(error.detail ?? "") The enrolment was lost. Use a new code.")
        }
        return try await status()
    }

    private static func newKey() throws(Problem) -> (key: PushKey, open: [UInt8]) {
        do throws(PushKey.Failure) {
            let key = try PushKey.make()
            return (key, try key.publicKey())
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// Removes the enrolment. Registered apps then have no token until the device is enrolled again.
    package func leave() async throws(Problem) {
        guard let enrolment = pushes.device.enrolment else { return }
        try await change { (states, now) throws(Problem) in
            states.pushes.left(now: now)
            states.unified.enrolled(false, now: now)
        }
        try? FileManager.default.removeItem(at: keyFile(enrolment.device))
    }

    /// Performs the enrolment with the gateway, over a separate connection.
    private func enrolment(
        _ address: PushAddress, _ authority: String?, _ purpose: DeviceChannel.Purpose
    ) async -> Result<DeviceID, Problem> {
        let (events, continuation) = AsyncStream<LinkEvent>.makeStream()
        let wire = environment.connect(
            CurlChannelRequest(host: address.host, port: address.port, certificateAuthority: authority),
            LinkReporter(0, continuation))
        defer { wire.close() }
        let (clock, end) = (environment.clock, reading.bootSeconds + Self.enrolmentTimeout)
        let timeout = Task {
            guard (try? await clock.sleep(untilBootSeconds: end)) != nil else { return }
            continuation.finish()
        }
        defer { timeout.cancel() }
        var channel = DeviceChannel(purpose)
        for await event in events {
            switch event.kind {
            case .opened: channel.opened()
            case .ended(let end): return .failure(.conflict(end.sentence(address.host, address.port)))
            case .received(let bytes):
                for action in channel.received(bytes) {
                    switch action {
                    case .send(let frame): wire.send(frame.encoded)
                    case .enrolled(let device): return .success(device)
                    case .close(let refusal, _): return .failure(Self.refusal(refusal))
                    default: break
                    }
                }
                wire.resume()
            }
        }
        return .failure(.conflict("\(address.host):\(address.port) has not responded in time."))
    }

    private static func refusal(_ refusal: Refusal) -> Problem {
        guard refusal.code == .enrolmentCode else {
            return .conflict("The gateway refused the enrolment: \(refusal.text)")
        }
        return .invalid(
            "The gateway refused the code: \(refusal.text) A code works once, and for a limited time. "
                + "Create a new one with 'nightshift-gateway enrolment create'.", pointer: "/url")
    }

    private static func check(_ authority: String) throws(Problem) {
        guard authority.hasPrefix("/") else {
            throw .invalid("The path of the certificate authority's file must be absolute.", pointer: "/authority")
        }
        guard access(authority, R_OK) == 0 else {
            throw .invalid("'\(authority)': \(String(cString: strerror(errno))).", pointer: "/authority")
        }
    }

    /// Returns the device's name for the gateway's list: the given name, or the name of the machine.
    private static func name(_ given: String?) -> String {
        let name = given ?? ProcessInfo.processInfo.hostName
        return String(decoding: name.utf8.prefix(ProtocolLimits.textLength), as: UTF8.self)
    }

    // MARK: - Desktop entries

    /// Reads the desktop entries again, because an entry may have been installed by hand.
    private func readEntries() async throws(Problem) {
        guard !part.isNew, let manifests = await entries.read() else { return }
        guard part.isOpen else { throw part.refusal }
        await settle { states, _ in states.pushes.read(manifests) }
    }
}
