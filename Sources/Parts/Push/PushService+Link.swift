import Foundation
import Logging
import NightshiftAPI
import NightshiftCurl
import PushProtocol
import Runtime

/// The connection to the gateway: executes the plan, handles the gateway's frames, and sends changes.
extension PushService {
    // MARK: - Actions of the plan

    func perform(_ actions: [ConnectionPlan.Action]) {
        for action in actions {
            switch action {
            case .connect: connect()
            case .disconnect: dropLink()
            case .ping(let next):
                guard var link else { continue }
                let frames = link.channel.keepAliveDue(next: next)
                self.link = link
                send(frames)
            }
        }
    }

    private func connect() {
        dropLink()
        guard !part.isClosed, let enrolment = pushes.device.enrolment else { return }
        lastLink += 1
        let request = CurlChannelRequest(
            host: enrolment.host, port: enrolment.port, certificateAuthority: pushes.device.authority)
        let purpose = DeviceID(enrolment.device).map(DeviceChannel.Purpose.connect)
        guard let purpose else {
            return failed("The stored device name of the enrolment is invalid.", .notAuthenticated)
        }
        let (topics, state) = (pushes.topics, pushes.deviceState)
        let channel = DeviceChannel(
            purpose, keepAlive: UInt32(plan.keepAlive.current), state: state, topics: topics)
        let wire = environment.connect(request, LinkReporter(lastLink, continuation))
        link = PushLink(number: lastLink, wire: wire, channel: channel, topics: topics, state: state)
    }

    /// Closes the connection, and ignores its further events.
    func dropLink() {
        guard let link else { return }
        if link.channel.state == .open {
            disconnections.append(("The service closed the connection.", reading.wallSeconds))
        }
        self.link = nil
        link.wire.close()
    }

    /// Handles the end of a connection, or a failed attempt to connect.
    func failed(_ why: String, _ code: RefusalCode? = nil, retryAfter: UInt32 = 0) {
        if link?.channel.state == .open || code != nil { disconnections.append((why, reading.wallSeconds)) }
        let wire = link?.wire
        link = nil
        wire?.close()
        plan.ended(
            why, code, retryAfter: retryAfter, jitter: environment.random(), now: reading.bootSeconds)
    }

    // MARK: - Changes of the state

    /// Opens or closes the connection as the state requires, and sends changes to the gateway.
    func followStates() {
        let isWanted = pushes.wantsConnection || unified.isEnrolled && !unified.registrations.isEmpty
        perform(plan.want(isWanted && !part.isClosed, now: reading.bootSeconds))
        guard var link, link.channel.state == .open else { return }
        var actions: [DeviceChannel.Action] = []
        if link.topics != pushes.topics {
            link.topics = pushes.topics
            actions += link.channel.change(topics: link.topics)
        }
        if link.state != pushes.deviceState {
            link.state = pushes.deviceState
            actions += link.channel.change(state: link.state)
        }
        let requests = pushes.requests
        for topic in requests.leaving where link.askedToLeave.insert(topic).inserted {
            // If the topic is wanted again, its token is requested again, because a pending response would contain the
            // old token.
            link.asked.remove(topic)
            actions += link.channel.unregister(topic)
        }
        let tokens = requests.tokens + unified.wanted.map { (topic: $0, fresh: false) }
        for (topic, fresh) in tokens where link.asked.insert(topic).inserted {
            link.askedToLeave.remove(topic)
            actions += link.channel.register(topic, fresh: fresh)
        }
        self.link = link
        send(actions)
    }

    private func send(_ actions: [DeviceChannel.Action]) {
        for case .send(let frame) in actions { link?.wire.send(frame.encoded) }
    }

    // MARK: - Events of the connection

    /// Handles the events of all connections in order. The next bytes are requested only after the last ones have been
    /// handled.
    func followLink() async {
        for await event in events {
            guard event.link == link?.number, !part.isClosed else { continue }
            switch event.kind {
            case .opened: link?.channel.opened()
            case .received(let bytes): await received(bytes, event.link)
            case .ended(let end):
                let enrolment = pushes.device.enrolment
                failed(end.sentence(enrolment?.host ?? "", enrolment?.port ?? 0))
                await settle { _, _ in }
            }
            setAlarm()
        }
    }

    private func received(_ bytes: [UInt8], _ number: Int) async {
        guard var link else { return }
        let now = reading.bootSeconds
        let actions = link.channel.received(bytes)
        self.link = link
        for action in actions {
            // An action may take a while, and the connection may be closed in the meantime.
            guard self.link?.number == number else { return }
            await execute(action, number)
        }
        guard self.link?.number == number else { return }
        plan.heard(now)
        self.link?.wire.resume()
    }

    private func execute(_ action: DeviceChannel.Action, _ number: Int) async {
        switch action {
        case .send(let frame): link?.wire.send(frame.encoded)
        case .sign(let bytes): sign(bytes)
        case .connected(let keepAlive, let endpoints):
            plan.connected(keepAlive: keepAlive, now: reading.bootSeconds)
            await settle { states, now in
                states.unified.connected(endpoints: endpoints, now: now)
                states.pushes.noteConnected(now)
            }
        case .store(let message): await store(message, number)
        case .keepAliveAnswered: plan.answered(now: reading.bootSeconds)
        case .registered(let topic, let token):
            // The topic is removed from the requested ones within the step. Until then, other steps must not request
            // its token again.
            await settle { states, now in
                link?.asked.remove(topic)
                states.unified.registered(topic, token: token, now: now)
                states.pushes.registered(topic, token: token, now: now)
            }
            resumeWaiters(of: AppID(rawValue: topic))
        case .unregistered(let topic):
            await settle { states, _ in
                link?.askedToLeave.remove(topic)
                states.pushes.unregistered(topic)
            }
        case .refused(let topic, let refusal):
            await settle { states, now in
                states.unified.refused(topic, refusal, now: now)
                states.pushes.refused(topic, refusal, now: now)
            }
            resumeWaiters(of: AppID(rawValue: topic))
        case .close(let refusal, let retryAfter):
            failed(Self.sentence(refusal), refusal.code, retryAfter: retryAfter)
            await settle { _, _ in }
        // This event occurs only on an enrolment connection.
        case .enrolled: break
        }
    }

    private func sign(_ bytes: [UInt8]) {
        guard let enrolment = pushes.device.enrolment, var link else { return }
        do throws(PushKey.Failure) {
            let signature = try PushKey.read(keyFile(enrolment.device)).sign(bytes)
            let actions = link.channel.signed(signature)
            self.link = link
            send(actions)
        } catch {
            environment.logger.error("The device cannot authenticate itself", metadata: ["error": "\(error)"])
            failed(
                "\(error) Run 'nightshift push leave', and enrol the device again to create another key.",
                .notAuthenticated)
        }
    }

    /// Writes a push to disk, and then acknowledges it to the gateway.
    private func store(_ message: Message, _ number: Int) async {
        // The gateway may send a push again whose first write has failed, and is now part of another one.
        let isWritten: Bool
        if message.type == .unifiedpush {
            isWritten = await settle(coversEarlier: true) { $0.unified.received(message, now: $1) }
        } else {
            await learn(AppID(rawValue: message.topic))
            isWritten = await settle(coversEarlier: true) { $0.pushes.received(message, now: $1) }
        }
        guard self.link?.number == number, var link else { return }
        guard isWritten else {
            // The gateway sends the push again over the next connection. The disk may work again by then.
            failed("A push could not be written to disk. See the log of the service for the reason.", .trouble)
            return
        }
        let actions = link.channel.stored(message.id)
        self.link = link
        send(actions)
    }

    static func sentence(_ refusal: Refusal) -> String {
        switch refusal.code {
        case .notAuthenticated:
            "The gateway does not accept this device: \(refusal.text) Run 'nightshift push leave', and enrol the device "
                + "again."
        case .replaced:
            "Another service has connected with this device's key: \(refusal.text) If you copied the state "
                + "directory, enrol the copy as another device."
        case .version: "The gateway and this service use different protocol versions: \(refusal.text)"
        case .shutdown: "The gateway is stopping: \(refusal.text)"
        case .enrolmentCode, .protocolError, .unknownTopic, .tooMuch, .idle, .trouble: refusal.text
        }
    }

    /// Returns the path of a device's key. The path contains the device's name, so that a new enrolment never
    /// overwrites an earlier key.
    func keyFile(_ device: String) -> URL { environment.state.appending(path: "push-\(device).key") }
}
