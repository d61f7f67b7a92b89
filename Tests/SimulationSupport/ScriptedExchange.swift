import Glibc
import NightshiftAPI
import TestSupport
import Transfers

/// A running exchange, as a value. ``ScriptedTransport`` stores the exchange and executes its events.
struct ScriptedExchange {
    enum Event {
        case head(ResponseHead)
        case end(ExchangeEnd)
        case nothing
    }

    private enum Phase {
        case connecting
        /// The receiver has the head, and decides whether it accepts the body.
        case judging
        case body(BodyDisposition)
    }

    let begun: ScriptedTransport.Begun
    let receiver: any ExchangeReceiver
    /// The boot time of the next step, or nil while only the service can continue the exchange.
    private(set) var nextStep: Double?
    var rateLimit: Int64?
    private var phase = Phase.connecting
    private var answer: ScriptedAnswer?
    private var behaviour: ScriptedBehaviour?
    /// The number of bytes of the response's body that were sent.
    private var sent: Int64 = 0
    private var body: [UInt8] = []
    private(set) var isCancelled = false
    private var isSevered = false
    private var isPaused = false
    /// The boot time at which bytes last moved.
    private var lastProgress: Double

    init(begun: ScriptedTransport.Begun, receiver: any ExchangeReceiver) {
        self.begun = begun
        self.receiver = receiver
        rateLimit = begun.request.rateLimit
        lastProgress = begun.time
        nextStep = begun.time + Self.latency
    }

    /// The seconds from a request to the head of its response.
    private static let latency = 0.05

    mutating func cancel(_ now: Double) {
        guard !isCancelled else { return }
        isCancelled = true
        nextStep = now
    }

    mutating func sever(at now: Double) {
        isSevered = true
        nextStep = now
    }

    mutating func resume(_ now: Double) {
        guard isPaused else { return }
        isPaused = false
        lastProgress = now
        nextStep = now
    }

    mutating func begin(_ disposition: BodyDisposition, _ now: Double) {
        phase = .body(disposition)
        if case .stop = disposition { isCancelled = true }
        lastProgress = now
        nextStep = now
    }

    mutating func step(_ now: ClockReading, _ state: inout ScriptedTransport.State) -> Event {
        if isCancelled { return end(.cancelled) }
        if isSevered || !state.isOnline {
            let code: TransferFailure.Code = answer == nil ? .cannotResolveHost : .connectionLost
            return end(.failed(TransferFailure(code, "There is no network.")), at: answer == nil ? .address : .server)
        }
        switch phase {
        case .connecting: return connect(now, &state)
        case .judging: return .nothing
        case .body(let disposition): return move(disposition, now.bootSeconds, &state)
        }
    }

    private mutating func connect(_ now: ClockReading, _ state: inout ScriptedTransport.State) -> Event {
        if case .silent? = behaviour {
            return end(.failed(TransferFailure(.idleTimeout, "Nothing came.")))
        }
        if let proxy = begun.request.proxy, state.deadProxies.contains(proxy) {
            return end(.failed(TransferFailure(.proxyFailure, "No connection to the proxy.")), at: .proxy)
        }
        guard var resource = state.resources[begun.request.url] else {
            return end(.failed(TransferFailure(.cannotResolveHost, "There is no such origin.")), at: .address)
        }
        let behaviour: ScriptedBehaviour
        switch resource.protection?.judge(begun.request) {
        case nil, .passes?: behaviour = self.behaviour ?? Self.next(&resource, &state)
        case .asks?:
            guard let challenge = resource.protection?.challenge else { return .nothing }
            return .end(ExchangeEnd(outcome: .challenged(challenge)))
        case .refuses?:
            if let failure = resource.protection?.refusal { return end(.failed(failure)) }
            behaviour = .status(401)
        }
        self.behaviour = behaviour
        state.resources[begun.request.url] = resource
        switch behaviour {
        case .cannotConnect:
            return end(.failed(TransferFailure(.cannotConnect, "Connection refused.")), at: .address)
        case .noDescriptors:
            return end(.failed(TransferFailure(.inputOutput, "There are no file descriptors left.")), at: .address)
        case .deadRedirect:
            let failure = TransferFailure(.cannotConnect, "No connection to elsewhere.example.")
            return end(.failed(failure), at: .address, of: "http://elsewhere.example:80")
        case .silent:
            nextStep = begun.time + begun.request.idleTimeout
            return .nothing
        default: break
        }
        if let upload = begun.request.body, upload.meter.value < upload.size {
            return receive(upload, now.bootSeconds, state)
        }
        if begun.request.body != nil, case .stall = behaviour {
            // The server has all bytes but never responds.
            self.behaviour = .silent
            nextStep = now.bootSeconds + begun.request.idleTimeout
            return .nothing
        }
        let version = resource.versions[resource.current]
        var answer =
            begun.request.body == nil
            ? version.answer(
                begun.request, behaviour,
                date: HTTPDate.format(now.wallSeconds))
            : ScriptedAnswer(
                head: ResponseHead(
                    status: 201, headers: [], httpVersion: "1.1", url: begun.request.url, method: begun.request.method),
                content: version.content)
        if begun.request.body != nil { answer.count = resource.uploadAnswer }
        if begun.request.body != nil, case .status(let status, _) = behaviour { answer.head.status = status }
        if begun.request.body != nil, case .says(let status, let fields) = behaviour {
            answer.head.status = status
            answer.head.headers = HeaderField.list(fields)
        }
        if (200...206).contains(answer.head.status) { state.served[begun.request.url, default: []].insert(version) }
        self.answer = answer
        phase = .judging
        nextStep = nil
        return .head(answer.head)
    }

    private static func next(_ resource: inout ScriptedResource, _ state: inout ScriptedTransport.State)
        -> ScriptedBehaviour
    {
        resource.script.isEmpty ? state.weather(&state.random) : resource.script.removeFirst()
    }

    private mutating func receive(
        _ upload: UploadBody, _ now: Double, _ state: ScriptedTransport.State
    ) -> Event {
        var count = min(upload.size - upload.meter.value, share(of: state))
        if case .cut(let after)? = behaviour {
            guard upload.meter.value < after else {
                return end(.failed(TransferFailure(.connectionLost, "The connection was reset.")))
            }
            count = min(count, after - upload.meter.value)
        }
        upload.meter.value += count
        nextStep = now + state.interval
        return .nothing
    }

    private mutating func move(
        _ disposition: BodyDisposition, _ now: Double, _ state: inout ScriptedTransport.State
    ) -> Event {
        guard let answer else { return end(.failed(TransferFailure(.protocolError, "There is no answer."))) }
        guard sent < answer.count else { return conclude(answer, now, &state) }
        var count = min(answer.count - sent, share(of: state))
        switch disposition {
        case .file(let sink) where (sink.overlap?.rest ?? 0) > 0:
            guard let overlap = sink.overlap else { break }
            count = min(count, overlap.rest)
            let bytes = answer.content.bytes(answer.offset + sent..<answer.offset + sent + count)
            guard bytes.withUnsafeBytes({ overlap.compare($0) }) != nil else { return end(.failed(overlap.failure)) }
        case .file(let sink):
            let compared = sink.overlap?.compared ?? 0
            let position = sink.offset + sent - compared
            if position >= sink.end.value { return end(.complete) }
            let room = min(sink.ceiling.value, sink.end.value) - position
            guard room > 0 else {
                isPaused = true
                nextStep = nil
                return .nothing
            }
            count = min(count, room)
            if let length = sink.length {
                guard sent < compared + length else {
                    return end(.failed(TransferFailure(.protocolError, "More came than was announced.")))
                }
                count = min(count, compared + length - sent)
            }
            if let failure = Self.write(answer.content, answer.offset + sent, count, sink.descriptor, position) {
                return end(.failed(failure))
            }
            sink.position.value = position + count
        case .memory(let limit, let overflow):
            let bytes = answer.content.bytes(answer.offset + sent..<answer.offset + sent + count)
            guard body.count + bytes.count > limit else {
                body += bytes
                break
            }
            // The response's bytes are written to the file from the first one on.
            switch overflow() {
            case .failure(let failure): return end(.failed(failure))
            case .success(let sink):
                (sent, body, phase) = (0, [], .body(.file(sink)))
                return .nothing
            }
        case .discard, .stop: break
        }
        sent += count
        lastProgress = now
        nextStep = sent < answer.count ? now + state.interval : now
        return .nothing
    }

    /// Ends the body after the announced bytes.
    private mutating func conclude(
        _ answer: ScriptedAnswer, _ now: Double, _ state: inout ScriptedTransport.State
    ) -> Event {
        if answer.replaces, var resource = state.resources[begun.request.url] {
            resource.current = min(resource.current + 1, resource.versions.count - 1)
            state.resources[begun.request.url] = resource
            self.answer?.replaces = false
        }
        switch answer.ending {
        case .complete: return end(.complete)
        case .fails(let failure): return end(.failed(failure))
        case .silence:
            let timeout = lastProgress + begun.request.idleTimeout
            guard now < timeout else { return end(.failed(TransferFailure(.idleTimeout, "Nothing more came."))) }
            nextStep = timeout
            return .nothing
        }
    }

    /// Returns the number of bytes that arrive in one interval.
    private func share(of state: ScriptedTransport.State) -> Int64 {
        let common = state.rateLimit.map { $0 / Int64(max(1, state.exchanges.count)) } ?? .max
        let speed = min(state.bandwidth, rateLimit ?? .max, common)
        return max(1, Int64(saturating: Double(speed) * state.interval))
    }

    /// - Parameter origin: the origin of the last server that received a request.
    private func end(
        _ outcome: ExchangeEnd.Outcome, at stage: FailurePoint.Stage = .server, of origin: String? = nil
    ) -> Event {
        var end = ExchangeEnd(outcome: outcome, head: answer?.head, body: body, receivedBytes: sent)
        if case .failed = outcome {
            let asked = (try? TransferURL(parsing: begun.request.url))?.origin ?? ""
            end.failurePoint = FailurePoint(origin: origin ?? asked, stage: stage)
        }
        return .end(end)
    }

    private static func write(
        _ content: SeededContent, _ offset: Int64, _ count: Int64, _ descriptor: Int32, _ position: Int64
    ) -> TransferFailure? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(count), alignment: 16)
        defer { buffer.deallocate() }
        content.fill(buffer, from: offset)
        var written = 0
        while written < buffer.count {
            let result = pwrite(
                descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written,
                off_t(position) + off_t(written))
            guard result > 0 else {
                let code: TransferFailure.Code = errno == ENOSPC ? .diskFull : .inputOutput
                return TransferFailure(code, "Writing failed: \(String(cString: strerror(errno))).")
            }
            written += result
        }
        return nil
    }
}
