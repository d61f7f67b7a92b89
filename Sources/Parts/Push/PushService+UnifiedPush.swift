package import Device
import NightshiftAPI
import PushProtocol
import Runtime
import Store

/// The handling of UnifiedPush in the push service: requests of apps on the bus, and calls to apps.
extension PushService {
    /// The interface to the session bus. All functions may be called from any thread.
    package struct Distribution: Sendable {
        package var events: AsyncStream<DistributorEvent>
        package var start: @Sendable () -> Void
        package var perform: @Sendable (DistributorRequest) -> Void
        package var stop: @Sendable () -> Void

        package init(
            events: AsyncStream<DistributorEvent>, start: @escaping @Sendable () -> Void = {},
            perform: @escaping @Sendable (DistributorRequest) -> Void, stop: @escaping @Sendable () -> Void = {}
        ) {
            self.events = events
            self.start = start
            self.perform = perform
            self.stop = stop
        }

        package init(_ distributor: UnifiedPushDistributor) {
            self.init(
                events: distributor.events, start: { distributor.start() }, perform: { distributor.perform($0) },
                stop: { distributor.shutdown() })
        }
    }

    func followDistribution() async {
        guard let distribution = environment.distribution, !part.isClosed else { return }
        distribution.start()
        for await event in distribution.events { await heard(event) }
    }

    private func heard(_ event: DistributorEvent) async {
        await settle { states, now in
            switch event {
            case .connected: states.unified.connectedToBus()
            case .disconnected: states.unified.lostBus()
            case .named(let isOurs): states.unified.named(isOurs: isOurs)
            case .register(let call, let wanted):
                var random = SystemRandomNumberGenerator()
                states.unified.register(wanted, call: call, topic: UnifiedPushTopic(using: &random), now: now)
            case .unregister(let call, let token): states.unified.unregister(token: token, call: call, now: now)
            case .appeared(let service): states.unified.appeared(service)
            case .called(let number, let outcome): states.unified.called(number, outcome, now: now)
            }
        }
    }
}
