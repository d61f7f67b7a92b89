import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Transfers

/// Scripted origins and random actions, all from the seed of one world.
struct Scenario {
    let world: World
    let urls: [String]
    private var tokens: [(token: String, url: String)] = []

    /// Creates origins with files of many sizes and all kinds of validators.
    init(_ world: World) {
        self.world = world
        let random = world.random
        let date = HTTPDate.format(1_700_000_000)
        let later = HTTPDate.format(1_700_000_500)
        var urls: [String] = []
        for number in 0..<8 {
            let url = "http://host\(number % 3).example/\(number)"
            let size = Int64(random.pick([0, 1, 700, 64_000, 900_000, 1_500_000, 5_000_000, 6_000_000]) ?? 0)
            let tag = random.number(0...5)
            // There are only a few seeds, because each one needs its own table of random bytes.
            let versions = (0..<2).map { version in
                var made = ScriptedVersion(
                    seed: UInt64(number * 2 + version) % 12,
                    size: max(0, size + Int64(version * random.number(-1...1) * 500)),
                    entityTag: tag < 3 ? "\"v\(version)\"" : tag == 3 ? "W/\"v\(version)\"" : nil,
                    lastModified: tag == 2 || tag == 3 || tag == 4 ? (version == 0 ? date : later) : nil)
                made.announcesLength = random.chance(0.85)
                made.acceptsRanges = random.chance(0.9)
                return made
            }
            world.transport.serve(url, ScriptedResource(versions))
            urls.append(url)
        }
        self.urls = urls
        world.transport.setBandwidth(Int64(random.pick([200_000, 1_000_000, 4_000_000]) ?? 1_000_000))
        makeWeather(bad: true)
    }

    func makeWeather(bad: Bool) {
        guard bad else { return world.transport.setWeather { _ in .normal } }
        world.transport.setWeather { random in
            guard Double.random(in: 0..<1, using: &random) < 0.5 else { return .normal }
            let bytes = Int64.random(in: 0...3_000_000, using: &random)
            let few = Int64.random(in: 1...5_000, using: &random)
            return [
                .cannotConnect, .silent, .stall(after: bytes), .cut(after: bytes), .cut(after: few),
                .short(after: bytes),
                .status(503), .status(503, retryAfter: "7"), .status(429, retryAfter: "3"), .status(500),
                .ignoreRange, .earlyPart(by: few), .latePart, .wrongTotal, .anonymousPart, .unsatisfiable,
                .replaced(after: bytes), .long(by: few),
            ].randomElement(using: &random) ?? .normal
        }
    }

    /// Performs one random action, or advances the time.
    mutating func act() async {
        let random = world.random
        switch random.number(0...22) {
        case 0...4: await enqueueSome()
        case 5: if let id = random.pick(world.ledger.open) { await world.suspend(id) }
        case 6, 7: if let id = random.pick(world.ledger.open) { await world.resume(id) }
        case 8: await cancelSome()
        case 9:
            if let id = random.pick(world.ledger.open) {
                await world.change(
                    id,
                    TaskChange(priority: random.fraction(), rateLimit: Int64(random.pick([0, 50_000, 500_000]) ?? 0)))
            }
        case 10: if let id = random.pick(world.ledger.ended), random.chance(0.3) { await world.remove(id) }
        case 11: await setNetwork(available: false)
        case 12: await setNetwork(available: true)
        case 22: await changeDevice()
        case 13: world.clock.setWallClock(world.now.wallSeconds + Double(random.number(-20_000...20_000)))
        case 20: await burst()
        case 21: await upload()
        case 14: await world.advance(by: random.fraction() * 600)
        default: await world.advance(by: random.fraction() * 4)
        }
        await world.settle()
    }

    /// Performs several actions at once on a few tasks. The responses arrive in any order.
    private func burst() async {
        let random = world.random
        let open = world.ledger.open
        guard let some = random.pick(open), let other = random.pick(open) else { return }
        let acts = (0..<random.number(2...6)).map { _ in
            (id: random.chance(0.7) ? some : other, verb: random.number(0...4))
        }
        for act in acts { world.ledger.entries[act.id]?.isSuspended = false }
        await world.call { [service = world.service] in
            await withDiscardingTaskGroup { group in
                for (id, verb) in acts {
                    group.addTask {
                        // The service may refuse any of these actions because of the others.
                        switch verb {
                        case 0: _ = try? await service.suspend(id)
                        case 1, 2: _ = try? await service.resume(id)
                        case 3: _ = try? await service.change(id, TaskChange(priority: 0.6))
                        default: if id == some { _ = try? await service.cancel(id, producingResumeData: true) }
                        }
                    }
                }
            }
        }
        guard !world.commits.hasFailed else { return }
        for id in [some, other] {
            world.ledger.entries[id]?.isSuspended = await world.status(id)?.state == .suspended
        }
    }

    private func upload() async {
        guard let url = world.random.pick(urls) else { return }
        let path = world.directory.path("source-\(world.random.number(0...2))")
        if !FileManager.default.fileExists(atPath: path) {
            try? Data(repeating: 7, count: world.random.number(0...3_000_000)).write(to: URL(filePath: path))
        }
        await world.enqueue(
            world.request(url, kept: true) { request in
                request.kind = .upload
                request.source = path
            })
    }

    func setNetwork(available: Bool) async {
        world.transport.setOnline(available)
        await world.change { $0.conditions.network.isAvailable = available }
    }

    /// Changes the reported state of the device.
    private func changeDevice() async {
        let random = world.random
        await world.change { moment in
            switch random.number(0...6) {
            case 0: moment.conditions.network.kind = random.pick(NetworkKind.allCases) ?? .other
            case 1: moment.conditions.network.name = random.pick(["home", "train", nil]) ?? nil
            case 2: moment.conditions.network.isExpensive.toggle()
            case 3: moment.conditions.power = random.chance(0.5) ? .battery : .external
            case 4: moment.conditions.batteryPercentage = random.chance(0.9) ? random.fraction() * 100 : nil
            case 5: moment.phase = random.pick(DozePhase.allCases) ?? .awake
            default: moment.conditions.isSleeping.toggle()
            }
        }
    }

    /// Sets a device state that is plugged in, in use, and on an unmetered network.
    private func makeDeviceGood() async {
        await world.change { $0 = DeviceState() }
    }

    private mutating func enqueueSome() async {
        let random = world.random
        let session = random.chance(0.3) ? "other" : "terminal"
        let requests = (0..<random.number(1...4)).compactMap { _ in
            random.pick(urls).map { url in
                world.request(url, session: session, kept: random.chance(0.2)) { request in
                    request.priority = random.chance(0.5) ? random.fraction() : nil
                    request.suspended = random.chance(0.1) ? true : nil
                    request.connections = random.pick([1, 3, nil, nil]) ?? nil
                    if random.chance(0.1) {
                        request.earliestBeginDate = world.now.date.addingTimeInterval(random.fraction() * 3_000)
                    }
                    if random.chance(0.2) { request.countOfBytesClientExpectsToReceive = 20 << 20 }
                    if random.chance(0.1) { request.rateLimit = 100_000 }
                    if random.chance(0.15) { request.idleTimeout = 3 }
                    if random.chance(0.3) { request.isDiscretionary = true }
                    if random.chance(0.2) { request.allowsExpensiveNetworkAccess = false }
                    if random.chance(0.2) { request.allowsCellularAccess = false }
                    if random.chance(0.1) { request.requiresExternalPower = true }
                    if random.chance(0.1) { request.minimumBattery = random.fraction() * 100 }
                }
            }
        }
        await world.enqueue(requests, session: session)
    }

    private mutating func cancelSome() async {
        let random = world.random
        if let known = tokens.popLast() {
            var request = world.request(known.url)
            request.resumeData = known.token
            await world.enqueue([request])
            return
        }
        guard let id = random.pick(world.ledger.open), random.chance(0.5) else { return }
        let url = world.ledger.entries[id]?.url ?? ""
        if let token = await world.cancel(id, keeping: random.chance(0.7))?.resumeData { tokens.append((token, url)) }
    }

    /// Removes all trouble, and checks that every accepted task ends.
    func finish() async {
        makeWeather(bad: false)
        await setNetwork(available: true)
        await makeDeviceGood()
        await world.settle()
        for id in world.ledger.open { await world.resume(id) }
        let world = world
        let ended = await world.advance(atMost: 3 * 86_400) { world.ledger.open.isEmpty }
        if !ended {
            for id in world.ledger.open {
                world.fail("Task \(id) never ended: \(String(describing: await world.status(id)))")
            }
        }
        for (id, entry) in world.ledger.entries {
            if entry.end?.state == .failed { world.fail("Task \(id) failed: \(String(describing: entry.end?.error))") }
        }
    }
}
