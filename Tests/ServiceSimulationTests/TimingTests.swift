import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of the times of attempts, to the second.
    @Suite struct TimingTests {
        @Test func `A Retry-After in seconds delays the next attempt by that time, up to an hour`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("Retry-After in seconds") { world in
                    let begins = await Story.begins(
                        world, [.status(503, retryAfter: "90"), .status(429, retryAfter: "7200")])
                    // The delay counts from the time of the response. A Retry-After of more than an hour is treated as
                    // an hour.
                    #expect(begins.count == 3)
                    #expect(Story.gaps(begins) == [90.05, 3_600.05])
                }
            }
        }

        @Test func `A Retry-After date delays the next attempt until that date`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("Retry-After as a date") { world in
                    let date = HTTPDate.format(world.now.wallSeconds + 120)
                    let begins = await Story.begins(world, [.status(503, retryAfter: date)])
                    #expect(Story.gaps(begins) == [120])
                }
            }
        }

        @Test func `Pauses between failed attempts double up to five minutes`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("growing pauses", jitter: 0.5) { world in
                    let begins = await Story.begins(world, Array(repeating: .cut(after: 0), count: 12))
                    let pauses = [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 150, 150, 150]
                    #expect(Story.gaps(begins).count == pauses.count)
                    for (gap, pause) in zip(Story.gaps(begins), pauses) { #expect(abs(gap - pause - 0.05) < 0.01) }
                }
            }
        }

        @Test func `Progress makes the pauses between attempts short again`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("progress", jitter: 0.5) { world in
                    let script: [ScriptedBehaviour] = [
                        .cut(after: 0), .cut(after: 0), .cut(after: 0), .cut(after: 1_000),
                    ]
                    let begins = await Story.begins(world, script)
                    #expect(Story.gaps(begins).last.map { $0 < 1 } == true)
                }
            }
        }

        @Test func `The resource timeout excludes time suspended, and time with the machine off`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("resource timeout", jitter: 0.99) { world in
                    let day = 86_400.0
                    let url = Story.serve(world, size: 1_000)
                    world.transport.setWeather { _ in .cannotConnect }
                    await world.start()
                    let start = world.now.wallSeconds
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 2 * day, inspecting: false)
                    try await world.restart()
                    await world.advance(by: day, inspecting: false)
                    await world.suspend(id)
                    await world.advance(by: 10 * day)
                    try await world.restart(off: 5 * day)
                    #expect(await world.status(id)?.state == .suspended)
                    #expect(await world.status(id)?.deadline == nil)
                    await world.resume(id)
                    await world.advance(by: day, inspecting: false)
                    try await world.restart(off: 2 * day)
                    await world.advance(by: 4 * day, inspecting: false)
                    let status = await world.status(id)
                    #expect(status?.state == .failed)
                    #expect(status?.error?.code == .timedOut)
                    let lived = (status?.endedAt?.timeIntervalSince1970 ?? 0) - start
                    // The last boot is three seconds old when its service starts. These seconds count, too.
                    #expect(abs(lived - (24 * day - 3)) < 1, "It ended after \(lived / day) days.")
                }
            }
        }

        @Test func `The service retries to record a timeout until the database accepts the write`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("timeout on a full disk") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    await world.change { $0.conditions.network.isAvailable = false }
                    let id = await world.enqueue(world.request(url, kept: true) { $0.resourceTimeout = 60 })
                    world.survivesFailedCommits = true
                    await world.advance(by: 59)
                    world.commits.shut()
                    // The service becomes idle between the retries, so the retries do not loop.
                    await world.advance(by: 30)
                    world.commits.open()
                    await world.advance(by: 30)
                    let status = await world.status(id)
                    #expect(
                        status?.state == .failed && status?.error?.code == .timedOut, "\(String(describing: status))")
                }
            }
        }

        @Test func `A timed-out task that cannot finish does not prevent the start of other tasks`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("timeout of an upload that cannot be concluded") { world in
                    let path = world.directory.path("source")
                    try Data(repeating: 7, count: 1_000).write(to: URL(filePath: path))
                    let (url, other) = (
                        Story.serve(world, size: 10), Story.serve(world, host: "other", size: 1_000)
                    )
                    world.transport.change(url) { $0.uploadAnswer = 10 }
                    await world.start()
                    let id = await world.enqueue(
                        world.request(url, kept: true) {
                            $0.kind = .upload
                            $0.source = path
                            $0.resourceTimeout = 60
                        })
                    // The response to the upload cannot be stored.
                    let (files, aside) = (world.paths.files.path, world.directory.path("aside"))
                    try FileManager.default.moveItem(atPath: files, toPath: aside)
                    await world.advance(by: 90, inspecting: false)
                    #expect(world.transport.begun.count == 1)
                    let later = await world.enqueue(world.request(other))
                    await world.advance(by: 5, inspecting: false)
                    #expect(world.transport.begun.contains { $0.request.url == other })
                    #expect(await world.status(later)?.state == .completed)
                    try FileManager.default.moveItem(atPath: aside, toPath: files)
                    // The task runs until its response is stored, although its transfer is over.
                    await world.advance(by: 30, inspecting: false)
                    await world.inspect()
                    // The task is completed, however late the service can record that.
                    #expect(await world.status(id)?.state == .completed)
                    try await world.stop()
                }
            }
        }

        @Test func `A begin date follows changes of the wall clock`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("begin date") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    let date = world.now.date.addingTimeInterval(7_200)
                    let id = await world.enqueue(world.request(url) { $0.earliestBeginDate = date })
                    await world.advance(by: 3_600)
                    #expect(await world.status(id)?.wait?.reason == .beginDate)
                    #expect(await world.status(id)?.wait?.until == date)
                    world.clock.setWallClock(world.now.wallSeconds - 1_800)
                    await world.advance(by: 4_000)
                    #expect(world.transport.begun.isEmpty)
                    let moment = world.now.bootSeconds
                    world.clock.setWallClock(date.timeIntervalSince1970 + 1)
                    await world.settle()
                    #expect(world.transport.begun.map(\.time) == [moment])
                }
            }
        }

        @Test func `A task starts exactly at its earliest begin date`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("begin date") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    let start = world.now.bootSeconds
                    await world.enqueue(
                        world.request(url) { $0.earliestBeginDate = world.now.date.addingTimeInterval(500) })
                    await world.advance(by: 600)
                    #expect(world.transport.begun.map { $0.time - start } == [500])
                }
            }
        }

        @Test func `The return of the network ends every pause`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("network") { world in
                    let url = Story.serve(world, size: 1_000)
                    world.transport.setWeather { _ in .cannotConnect }
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 400)
                    world.transport.setOnline(false)
                    await world.change { $0.conditions.network.isAvailable = false }
                    await world.advance(by: 1_000)
                    #expect(await world.status(id)?.wait?.reason == .network)
                    world.transport.setWeather { _ in .normal }
                    let asked = world.transport.begun.count
                    let moment = world.now.bootSeconds
                    world.transport.setOnline(true)
                    await world.change { $0.conditions.network.isAvailable = true }
                    await world.settle()
                    #expect(world.transport.begun.dropFirst(asked).map(\.time) == [moment])
                    #expect(world.transport.timesForgotten == 2)
                }
            }
        }

        /// A test that pauses stay short, because no server is contacted and the shortage may end at any time.
        @Test func `Pauses do not grow while this machine has no file descriptors left`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("no descriptors", jitter: 0.99) { world in
                    let url = Story.serve(world, size: 1_000)
                    world.transport.setWeather { _ in .noDescriptors }
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    // After this time the pauses after failures of a server would last minutes.
                    await world.advance(by: 900, inspecting: false)
                    #expect(await world.status(id)?.lastError?.code == .inputOutput)
                    world.transport.setWeather { _ in .normal }
                    await world.advance(by: 11)
                    #expect(await world.status(id)?.state == .completed)
                }
            }
        }

        @Test func `A task that failed for lack of disk space is retried within seconds`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("full disk") { world in
                    let url = Story.serve(world, size: 1 << 55)
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 5)
                    #expect(await world.status(id)?.wait?.reason == .diskSpace)
                    #expect(await world.status(id)?.lastError?.code == .diskFull)
                    world.transport.change(url) {
                        $0.versions = [ScriptedVersion(seed: 1, size: 1_000, entityTag: "\"b\"")]
                    }
                    await world.advance(by: 6)
                    #expect(await world.status(id)?.state == .completed)
                }
            }
        }
    }
}

/// Helpers that several tests share.
enum Story {
    static func serve(
        _ world: World, host: String = "host", name: String = "file", size: Int64, script: [ScriptedBehaviour] = []
    ) -> String {
        let url = "http://\(host).example/\(name)"
        world.transport.serve(
            url, ScriptedResource([ScriptedVersion(seed: 1, size: size, entityTag: "\"a\"")], script: script))
        return url
    }

    /// Returns the times of the attempts of a task whose server follows `script` and then behaves normally.
    static func begins(_ world: World, _ script: [ScriptedBehaviour]) async -> [Double] {
        let url = serve(world, size: 50_000, script: script)
        await world.start()
        await world.enqueue(world.request(url))
        await world.advance(by: 40_000)
        #expect(world.ledger.open.isEmpty)
        return world.transport.begun.map(\.time)
    }

    static func gaps(_ times: [Double]) -> [Double] {
        zip(times, times.dropFirst()).map { (($1 - $0) * 1_000).rounded() / 1_000 }
    }
}
