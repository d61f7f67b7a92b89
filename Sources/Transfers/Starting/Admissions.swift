/// What the service keeps of its decisions over starting, from one to the next. Pure.
struct Admissions {
    var loop = PumpLoop()
    var turns = AdmissionTurns()
    var look = LatestLook()
    /// Boot seconds until which nothing starts because the store cannot be written.
    var pausedUntil: Double?
}
