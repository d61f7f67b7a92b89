import Scheduler
import Store

/// What the service keeps of its decisions over starting, from one to the next. Pure.
struct Admissions {
    var loop = PumpLoop()
    /// Whose turn it is where there is but one connection.
    var turns = ConnectionTurns<LaneID>()
    /// What the moment holds back, as the last decision found it, to say since when.
    var heldClasses = HeldClasses()
    var look = LatestLook()
    /// How often slow transfers have given up their places.
    var yields = YieldHistory()
    /// Which tasks have to show that they do not take the service down, before anything else starts.
    var trials = StartTrials()
    /// Boot seconds until which nothing starts because the store cannot be written.
    var pausedUntil: Double?
}
