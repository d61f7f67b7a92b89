import ArgumentParser
import PushGateway

@main struct NightshiftGateway: ParsableCommand {}
