import Foundation
import NightshiftAPI
import Sessions
import SimulationSupport
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of tasks that an app adds in the background, and of the tasks that keep a maintenance window open.
    @Suite struct DiscretionTests {
        private static let app = AppID(rawValue: "org.example.Photos")

        private static func add(
            _ world: World, _ numbers: [Int64], _ url: String, fromBackground: Bool,
            _ adjust: (inout TaskRequest) -> Void = { _ in }
        ) async -> [TaskID] {
            var request = TaskRequest(url: url)
            request.connections = 1
            adjust(&request)
            let tasks = numbers.map { SessionTaskRequest(taskIdentifier: $0, request: request) }
            let ids = await world.call { [service = world.service] () -> [TaskID] in
                _ = try? await service.attach(Self.app, "photos", SessionSettings())
                return
                    (try? await service.enqueue(
                        Self.app, "photos", SessionEnqueueRequest(tasks: tasks),
                        on: { _, _ in .success(AppTaskTerms(isInBackground: fromBackground)) })) ?? []
            }
            return ids ?? []
        }

        /// Brings the app to the foreground: clears the holds in the app's row, then notifies the service.
        private static func comeToFront(_ world: World) async {
            await world.call { [service = world.service, store = world.store, now = world.now] in
                try? await store.write { try $0.liftHolds(of: Self.app, at: now.date) }
                await service.cameToFront(Self.app)
            }
        }

        @Test func `A task from the background is discretionary until its app is in the foreground`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("forced discretion") { world in
                    let url = Story.serve(world, size: 1_000)
                    await world.start()
                    await world.change { $0.phase = .dozing }
                    let front = await Self.add(world, [1], url, fromBackground: false)
                    let back = await Self.add(world, [2, 3], url, fromBackground: true)
                    let own = await Self.add(world, [4], url, fromBackground: true) { $0.isDiscretionary = true }
                    await world.advance(by: 100)
                    #expect(await world.status(front[0])?.state == .completed)
                    for id in back + own { #expect(await world.status(id)?.wait?.reason == .doze) }
                    #expect(await world.status(back[0])?.rules?.discretion == .full)
                    // Forced discretion of a task survives a restart of the service.
                    try await world.restart()
                    let moment = world.now.bootSeconds
                    await Self.comeToFront(world)
                    #expect(world.transport.begun.dropFirst().map(\.time) == [moment, moment])
                    await world.advance(by: 5)
                    for id in back { #expect(await world.status(id)?.state == .completed) }
                    // A task that its app made discretionary remains discretionary.
                    #expect(await world.status(own[0])?.wait?.reason == .doze)
                    await Self.comeToFront(world)
                    let lifted = await world.journal().filter { $0.decision == .conditionsLifted }
                    #expect(lifted.map(\.detail) == ["2 transfers."])
                    #expect(lifted.map(\.app) == [Self.app])
                }
            }
        }

        @Test func `A transfer from a maintenance window continues when its app is in the foreground`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("lifted while it runs") { world in
                    let url = Story.serve(world, size: 9_000_000)
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    await world.change { $0.phase = .window }
                    let id = await Self.add(world, [1], url, fromBackground: true)[0]
                    await world.advance(by: 3)
                    await Self.comeToFront(world)
                    await world.change { $0.phase = .dozing }
                    await world.advance(by: 20)
                    #expect(await world.status(id)?.state == .completed)
                    #expect(world.transport.begun.count == 1)
                }
            }
        }

        @Test func `The service wants a maintenance window only while a discretionary task can use it`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("activity") { world in
                    let url = Story.serve(world, size: 3_000_000)
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    await world.enqueue(world.request(url))
                    await world.advance(by: 10)
                    #expect(world.activity.phases.isEmpty, "What is not discretionary keeps no window open.")
                    await world.change { $0.phase = .dozing }
                    // A task that could not run in a maintenance window does not keep one open.
                    let held = await world.enqueue(
                        world.request(url) {
                            $0.isDiscretionary = true
                            $0.requiresExternalPower = true
                        })
                    await world.change { $0.conditions.power = .battery }
                    #expect(world.activity.phases == [true, false])
                    let ids = await world.enqueue((0..<3).map { _ in world.request(url) { $0.isDiscretionary = true } })
                    #expect(world.activity.phases == [true, false, true])
                    await world.advance(by: 500)
                    await world.change { $0.phase = .window }
                    await world.advance(by: 30)
                    for id in ids { #expect(await world.status(id)?.state == .completed) }
                    #expect(world.activity.phases == [true, false, true, false])
                    #expect(await world.status(held)?.wait?.reason == .externalPower)
                }
            }
        }

        @Test func `Tasks that wait for a Retry-After do not keep a maintenance window open`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("activity in a pause") { world in
                    let url = Story.serve(world, size: 1_000, script: [.status(503, retryAfter: "600")])
                    await world.start()
                    await world.change { $0.phase = .window }
                    await world.enqueue((0..<20).map { _ in world.request(url) { $0.isDiscretionary = true } })
                    await world.advance(by: 5)
                    #expect(world.activity.phases == [true, false])
                    await world.change { $0.phase = .dozing }
                    await world.advance(by: 590)
                    #expect(world.activity.phases == [true, false])
                    await world.advance(by: 20)
                    // The pause is over, and from now on the tasks want a maintenance window.
                    #expect(world.activity.phases == [true, false, true])
                }
            }
        }
    }
}
