import Foundation
import GRDB
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of the request to retry now, for a server that is available again.
    @Suite struct RetryTests {
        @Test func `A retry of all tasks starts every task that waits after a failure`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("retry all", jitter: 0.99) { world in
                    let down = (0..<8).map { Story.serve(world, name: "down-\($0)", size: 10_000) }
                    let busy = Story.serve(
                        world, host: "busy", size: 10_000, script: [.status(503, retryAfter: "3000")])
                    world.transport.setWeather { _ in .cannotConnect }
                    await world.start()
                    let ids = await world.enqueue((down + [busy]).map { world.request($0) })
                    await world.advance(by: 600, inspecting: false)
                    // The last task that probed waits for its own retry. The other tasks wait for the host.
                    let reasons = await world.reasons(ids.prefix(8))
                    #expect(reasons.count == 8 && Set(reasons).isSubset(of: [.retry, .hostBackoff]))
                    #expect(await world.status(ids[8])?.wait?.reason == .retryAfter)
                    world.transport.setWeather { _ in .normal }
                    let answer = await world.retry(RetryRequest())
                    #expect(answer?.count ?? 0 > 0 && answer?.refused == [])
                    await world.advance(by: 2)
                    #expect(world.ledger.open.isEmpty)
                    let entries = await world.journal().filter { $0.decision == .retried }
                    #expect(entries.map(\.detail) == [answer.map { "\($0.count) transfers." }])
                }
            }
        }

        /// Adds two downloads from unreachable hosts, and returns them after some minutes of retries.
        private static func twoThatFail(_ world: World) async -> (urls: [String], ids: [TaskID]) {
            let urls = ["first", "second"].map {
                Story.serve(world, host: $0, size: 10_000, script: Array(repeating: .cannotConnect, count: 9))
            }
            await world.start()
            let ids = await world.enqueue(urls.map { world.request($0) })
            await world.advance(by: 400)
            return (urls, ids)
        }

        @Test func `An unreadable task cannot be retried, but other tasks can`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("retry with one that is damaged", jitter: 0.99) { world in
                    let (_, ids) = await Self.twoThatFail(world)
                    try world.edit("UPDATE tasks SET request = 'no JSON' WHERE id = \(ids[0])")
                    let answer = await world.retry(RetryRequest(tasks: ids))
                    #expect(answer?.count == 1)
                    #expect(answer?.refused.map(\.id) == [ids[0]])
                }
            }
        }

        @Test func `A retry of a named task starts only that task, and starts the task at once`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("retry one", jitter: 0.99) { world in
                    let (urls, ids) = await Self.twoThatFail(world)
                    let count = await world.status(ids[0])?.wait?.count ?? 0
                    #expect(count > 5)
                    // A retry does not clear the failures of the host or those of the task.
                    let before = world.transport.begun.count
                    #expect(await world.retry(RetryRequest(tasks: [ids[0]]))?.count == 1)
                    #expect(world.transport.begun.dropFirst(before).map(\.request.url) == [urls[0]])
                    let status = await world.act(ids[0]) { service throws(Problem) in try await service.retry(ids[0]) }
                    #expect(status?.state == .running)
                    for url in urls { world.transport.change(url) { $0.script = [] } }
                    _ = await world.retry(RetryRequest(tasks: [ids[0]]))
                    await world.advance(by: 2)
                    #expect(await world.status(ids[0])?.state == .completed)
                    #expect(await world.status(ids[1])?.state == .waiting)
                }
            }
        }

        @Test func `A failed download that is retried by its number starts again`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("retry failed") { world in
                    let urls = ["one", "two"].map {
                        Story.serve(world, name: $0, size: 10_000, script: [.status(404)])
                    }
                    await world.start()
                    let ids = await world.enqueue(urls.map { world.request($0) })
                    await world.advance(by: 5)
                    for id in ids { #expect(await world.status(id)?.state == .failed) }
                    // Without numbers, only transfers that wait are retried.
                    #expect(await world.retry(RetryRequest()) == RetryResponse(count: 0))
                    #expect(await world.status(ids[0])?.state == .failed)
                    #expect(await world.retry(RetryRequest(tasks: [ids[0]])) == RetryResponse(count: 1))
                    #expect(await world.retry(ids[1])?.state.isTerminal == false)
                    await world.advance(by: 5)
                    for id in ids { #expect(await world.status(id)?.state == .completed) }
                    let entries = await world.journal().filter { $0.decision == .retried && $0.task != nil }
                    #expect(entries.compactMap(\.task) == ids)
                }
            }
        }

        @Test func `The error about a refused retry says why, or what to do instead`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("refusals") { world in
                    let url = Story.serve(world, size: 10_000)
                    await world.start()
                    let ids = await world.enqueue([
                        world.request(url), world.request(url) { $0.suspended = true },
                        world.request(url) { $0.suspended = true },
                    ])
                    await world.cancel(ids[1])
                    await world.advance(by: 5)
                    let answer = await world.retry(RetryRequest(tasks: ids + [TaskID(99)]))
                    #expect(answer?.count == 0)
                    let details = answer?.refused.map { $0.problem.detail ?? "" } ?? []
                    #expect(details.count == 4)
                    #expect(details.first == "Transfer \(ids[0]) has completed; there is nothing to retry.")
                    #expect(details.dropFirst().first?.contains("Add it again with 'nightshift get'.") == true)
                    #expect(details.dropFirst(2).first?.contains("Resume it") == true)
                    #expect(answer?.refused.last?.problem.status == 404)
                }
            }
        }

        @Test func `A retry does not start a task that waits for the network`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("no network") { world in
                    let url = Story.serve(world, size: 10_000)
                    await world.start()
                    await world.change { $0.conditions.network.isAvailable = false }
                    let id = await world.enqueue(world.request(url))
                    #expect(await world.retry(RetryRequest(tasks: [id])) == RetryResponse(count: 0))
                    #expect(await world.status(id)?.wait?.reason == .network)
                }
            }
        }
    }
}

extension World {
    fileprivate func reasons(_ ids: ArraySlice<TaskID>) async -> [WaitReason] {
        var reasons: [WaitReason] = []
        for id in ids { if let wait = await status(id)?.wait { reasons.append(wait.reason) } }
        return reasons
    }

    /// Changes the database without the service's knowledge.
    fileprivate func edit(_ sql: String) throws {
        let database = try DatabaseQueue(path: paths.database.path)
        defer { try? database.close() }
        try database.write { try $0.execute(sql: sql) }
    }

    fileprivate func retry(_ request: RetryRequest) async -> RetryResponse? {
        for id in request.tasks ?? [] { reopen(id) }
        return await call { [service] in try? await service.retry(request) } ?? nil
    }

    fileprivate func retry(_ id: TaskID) async -> TaskStatus? {
        reopen(id)
        return await act(id) { service throws(Problem) in try await service.retry(id) }
    }

    /// Tells the ledger that a failed task may end a second time.
    private func reopen(_ id: TaskID) {
        if ledger.entries[id]?.end?.state == .failed { ledger.entries[id]?.end = nil }
    }
}
