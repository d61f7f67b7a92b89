import Foundation
import NightshiftAPI
import Scheduler
import SimulationSupport
import Store
import TestSupport
import Testing

@testable import Daemon

/// Tests with random days of a device coordinator, whose actions, journal and stored state must always agree.
@Suite(.timeLimit(.minutes(20))) struct DeviceCoordinatorWalkTests {
    /// The part of the stored state that contains the phase of doze.
    private struct Kept: Decodable, Sendable {
        var doze: DozeMachine.State
    }

    /// Returns the phase after a decision; nil if the decision is not legal.
    private static func phase(after decision: Decision, from phase: DozePhase) -> DozePhase? {
        switch (decision, phase) {
        case (.dozeBegan, .awake): .dozing
        case (.windowOpened, .dozing): .window
        case (.windowClosed, .window): .dozing
        case (.dozeEnded, .dozing), (.dozeEnded, .window): .awake
        case (.dozeBegan, _), (.windowOpened, _), (.windowClosed, _), (.dozeEnded, _): nil
        default: phase
        }
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `L6: The journal contains only legal steps and agrees with the stored phase of doze`(seed: UInt64) async throws
    {
        var random = SplitMix64(seed: seed)
        let scene = try DeviceCoordinatorScene()
        try await scene.run {
            for _ in 0..<40 {
                switch Int.random(in: 0..<9, using: &random) {
                case 0: try await set(scene, .idle, ["yes", "no"].randomElement(using: &random))
                case 1: try await set(scene, .power, ["external", "battery"].randomElement(using: &random))
                case 2: try await set(scene, .sleeping, ["yes", "no"].randomElement(using: &random))
                case 3...4:
                    let phase = DozePhase.allCases.randomElement(using: &random) ?? .awake
                    // A refusal is a valid result.
                    do { _ = try await scene.conductor.request(phase) } catch is Problem {}
                case 5:
                    scene.apps(
                        holding: Int.random(in: 0..<4, using: &random) == 0 ? ["work"] : [],
                        wakes: Int.random(in: 0...1, using: &random), working: Int.random(in: 0...1, using: &random))
                default:
                    let time = scene.clock.now().bootSeconds
                    scene.clock.advance(
                        to: time + ([1, 10, 61, 301, 5_000].randomElement(using: &random) ?? 1))
                }
            }
        }
        var phase = DozePhase.awake
        for entry in try await scene.journal() {
            let next = Self.phase(after: entry.decision, from: phase)
            #expect(next != nil, "\(entry.decision) while \(phase), seed \(seed)")
            phase = next ?? phase
        }
        let kept = try await scene.store.read { try $0.doze(Kept.self) }
        #expect(kept?.doze.phase == phase, "seed \(seed)")
        #expect(await scene.conductor.status().doze.phase == phase, "seed \(seed)")
        #expect(scene.log.troubles == [], "seed \(seed)")
    }

    private func set(_ scene: DeviceCoordinatorScene, _ key: DeviceKey, _ value: String?) async throws {
        _ = try await scene.conductor.change(DeviceChange(overrides: [key: value]))
    }
}
