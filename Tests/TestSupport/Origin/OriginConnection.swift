/// The server's side of one connection, which runs on its own thread until the connection ends.
struct OriginConnection {
    let core: OriginCore
    let socket: Socket
    let number: Int

    private enum Ending {
        case keep, close, linger, reset
    }

    func run() {
        var reader = RequestReader(socket)
        var ending = Ending.keep
        while ending == .keep, let head = reader.head() {
            ending = exchange(head, &reader)
        }
        if ending == .linger { socket.finishSending() }
        core.state.update {
            $0.openConnections[number] = nil
            // The socket is closed under the lock, so that no other thread shuts down a reused descriptor.
            if ending == .reset { socket.reset() } else { socket.close() }
        }
    }

    private func exchange(_ head: RequestReader.Head, _ reader: inout RequestReader) -> Ending {
        let request = core.state.update { $0.begin(head, connection: number) }
        defer { core.state.update { $0.finish(request.number) } }
        let (plan, behaviours) = core.plan(request, head)

        var lingers = false
        if head.hasBody {
            if head.expectsContinue && plan.isFinalBeforeBody {
                lingers = true
            } else if behaviours.contains(where: \.refusesExpectation) {
                // The connection stays open, because the client waits for the response before it sends its body.
                return respond(ResponsePlan(status: 417), to: request, keepsConnection: true)
            } else {
                if head.expectsContinue && !behaviours.contains(where: \.ignoresExpectation) {
                    guard socket.send("HTTP/1.1 100 Continue\r\n\r\n") else { return .close }
                }
                if let ending = receive(head, &reader, request, behaviours) { return ending }
            }
        }
        let ending = respond(plan, to: request, keepsConnection: head.keepsConnection && !lingers)
        return lingers && ending != .reset ? .linger : ending
    }

    // MARK: - Uploads

    /// Reads the body. If that fails, the function returns how the connection ends.
    private func receive(
        _ head: RequestReader.Head, _ reader: inout RequestReader, _ request: OriginRequest, _ behaviours: [Behaviour]
    ) -> Ending? {
        let recorder = BodyRecorder(fileForLarge: core.bodies.path("body-\(request.number)"))
        var received: Int64 = 0
        var ending: Ending?
        let start = ContinuousClock.now
        let isWhole = reader.body(of: head) { bytes in
            received += Int64(bytes.count)
            recorder.append(bytes)
            core.state.update { $0.requests[request.number].body = recorder.body }
            for behaviour in behaviours {
                switch behaviour {
                case .cutUploadAfter(let limit) where received >= limit:
                    core.state.update { $0.count(request.number) { $0.cuts += 1 } }
                    ending = .close
                case .resetUploadAfter(let limit) where received >= limit:
                    core.state.update { $0.count(request.number) { $0.cuts += 1 } }
                    ending = .reset
                case .stallUploadAfter(let limit) where received >= limit:
                    stall(request)
                    ending = .close
                case .throttleUpload(let rate):
                    if rest(start, received, rate) { ending = .close }
                default:
                    break
                }
            }
            return ending == nil
        }
        return isWhole ? ending : ending ?? .close
    }

    // MARK: - Responses

    private func respond(_ plan: ResponsePlan, to request: OriginRequest, keepsConnection: Bool) -> Ending {
        switch plan.opening {
        case .respond: break
        case .close: return .close
        case .reset: return .reset
        case .stall:
            stall(request)
            return .close
        case .hold(let gate):
            guard pass(gate) else { return .close }
        }
        core.state.update {
            $0.requests[request.number].status = plan.status
            $0.requests[request.number].responseFields = plan.fields
        }
        var plan = plan
        let closes = !keepsConnection || plan.closesConnection
        if closes { plan.fields.set("Connection", "close") }
        guard socket.send(plan.head()) else { return .close }
        if plan.headIsEndless { return sendEndlessFields() }
        if let ending = sendBody(plan, of: request) { return ending }
        return closes ? .linger : .keep
    }

    private func sendEndlessFields() -> Ending {
        let fields = (0..<64).map { "X-Endless-\($0): \(String(repeating: "x", count: 1000))\r\n" }.joined()
        while core.isAlive, socket.send(fields) {}
        return .close
    }

    /// Sends the body. If that fails, the function returns how the connection ends.
    private func sendBody(_ plan: ResponsePlan, of request: OriginRequest) -> Ending? {
        guard !plan.omitsBody else { return nil }
        let isChunked = plan.framing == .chunked || plan.framing == .chunkedWithoutEnd
        var events = plan.events.sorted { $0.after < $1.after }[...]
        var sent: Int64 = 0
        let start = ContinuousClock.now
        // Large pieces need fewer system calls. Smaller ones make events and pauses exact.
        let room = min(plan.pace?.pieceSize ?? 256 << 10, 256 << 10)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 16)
        defer { buffer.deallocate() }
        for part in plan.body {
            var offset: Int64 = 0
            while offset < part.length {
                while let event = events.first, event.after <= sent {
                    events.removeFirst()
                    if let ending = happen(event.kind, request) { return ending }
                }
                let toEvent = events.first.map { $0.after - sent } ?? .max
                let count = Int(min(Int64(room), part.length - offset, toEvent))
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                part.fill(piece, from: offset)
                guard send(UnsafeRawBufferPointer(piece), chunked: isChunked) else { return .close }
                offset += Int64(count)
                sent += Int64(count)
                core.state.update {
                    $0.requests[request.number].bodyBytesSent = sent
                    $0.count(request.number) { $0.bodyBytesSent += Int64(count) }
                }
                if let pace = plan.pace, rest(start, sent, pace.bytesPerSecond) { return .close }
            }
        }
        for event in events {
            // Cuts and stalls apply only to longer bodies. A swap may come with the last byte.
            if case .swap = event.kind, event.after <= sent { _ = happen(event.kind, request) }
        }
        if plan.framing == .chunked { return socket.send("0\r\n\r\n") ? nil : .close }
        return nil
    }

    private func send(_ bytes: UnsafeRawBufferPointer, chunked: Bool) -> Bool {
        guard chunked else { return socket.send(bytes) }
        return socket.send("\(String(bytes.count, radix: 16))\r\n") && socket.send(bytes) && socket.send("\r\n")
    }

    private func happen(_ kind: ResponsePlan.BodyEvent.Kind, _ request: OriginRequest) -> Ending? {
        switch kind {
        case .cut, .reset:
            core.state.update { $0.count(request.number) { $0.cuts += 1 } }
            if case .reset = kind { return .reset }
            return .close
        case .stall:
            stall(request)
            return .close
        case .hold(let gate):
            return pass(gate) ? nil : .close
        case .swap(let next):
            core.state.update { $0.serve($0.key(for: request.path) ?? request.path, next) }
            return nil
        }
    }

    // MARK: - Waiting

    /// Waits until this many bytes are due at the rate. Returns true if the connection ended meanwhile.
    private func rest(_ start: ContinuousClock.Instant, _ bytes: Int64, _ bytesPerSecond: Int64) -> Bool {
        let due = start + .seconds(1) * (Double(bytes) / Double(bytesPerSecond))
        let wait = ContinuousClock.now.duration(to: due)
        return wait > .zero && socket.hungUp(within: wait)
    }

    private func stall(_ request: OriginRequest) {
        core.state.update { $0.count(request.number) { $0.stalls += 1 } }
        while core.isAlive, !socket.hungUp(within: .seconds(1)) {}
    }

    /// Waits for the gate. Returns true once the gate is open, and false if the connection ended first.
    private func pass(_ gate: Gate) -> Bool {
        while core.isAlive {
            if gate.block(until: .now + .milliseconds(50)) { return true }
            if socket.isHungUp { return false }
        }
        return false
    }
}

extension ResponsePlan {
    /// Whether the client could not find the end of the response, or the next response, on this connection.
    fileprivate var closesConnection: Bool {
        framing == .untilClose || framing == .chunkedWithoutEnd || lengthError != 0 || statusLine != nil
            || version == "HTTP/1.0"
    }
}

extension ResponsePlan.BodyPart {
    fileprivate func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) {
        switch self {
        case .bytes(let bytes): buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
        case .content(let content, let range): content.fill(buffer, from: range.lowerBound + offset)
        }
    }
}

extension Behaviour {
    fileprivate var refusesExpectation: Bool {
        if case .refuseExpect = self { true } else { false }
    }

    fileprivate var ignoresExpectation: Bool {
        if case .ignoreExpect = self { true } else { false }
    }
}
